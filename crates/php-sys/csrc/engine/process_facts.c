/*
 * State that exists once per process and that the kernel or the C library keeps.
 *
 * Signal handlers, blocked signals, the alarm, limits, the priority and the CPU affinity are the kernel's state of the
 * process. A request's change would outlive the request and affect others; an alarm without a handler ends the process. This
 * state is read when a request first calls a function that changes it, because the worker has its own signal handlers only
 * after the seal, and because reading all of it takes a hundred system calls. Where the kernel does not let the process go
 * back, the worker leaves.
 */
#include "engine/process_facts.h"
#include "engine/intercept.h"
#include "hearth.h"

#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

static const char *const functions[] = {
	"pcntl_signal", "pcntl_async_signals", "pcntl_sigprocmask", "pcntl_alarm", "pcntl_setpriority", "proc_nice", "posix_setrlimit",
	"pcntl_setcpuaffinity", "pcntl_unshare", "pcntl_setns", "posix_setuid", "posix_seteuid", "posix_setgid", "posix_setegid",
	"posix_initgroups", "posix_setsid", "posix_setpgid", "chroot",
};

static struct {
	bool noted;
	struct sigaction actions[NSIG];
	sigset_t blocked;
	struct rlimit limits[RLIM_NLIMITS];
	int priority;
	cpu_set_t processors;
} before;

void hearth_process_note(bool handlers)
{
	if (before.noted) {
		return;
	}
	before.noted = true;
	if (handlers) {
		hearth_signal_handlers_note();
	}
	hearth_identity_note();
	for (int number = 1; number < NSIG; number++) {
		sigaction(number, NULL, &before.actions[number]);
	}
	sigprocmask(SIG_BLOCK, NULL, &before.blocked);
	for (int number = 0; number < (int) RLIM_NLIMITS; number++) {
		getrlimit((__rlimit_resource_t) number, &before.limits[number]);
	}
	before.priority = getpriority(PRIO_PROCESS, 0);
	sched_getaffinity(0, sizeof before.processors, &before.processors);
}

static void restore_signals(void)
{
	const struct itimerval none = {0};

	setitimer(ITIMER_REAL, &none, NULL);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction now;

		if (sigaction(number, NULL, &now) == 0
				&& (now.sa_handler != before.actions[number].sa_handler || now.sa_flags != before.actions[number].sa_flags)) {
			sigaction(number, &before.actions[number], NULL);
		}
	}
	sigprocmask(SIG_SETMASK, &before.blocked, NULL);
}

static bool is_limited_alike(const struct rlimit *one, const struct rlimit *other)
{
	return one->rlim_cur == other->rlim_cur && one->rlim_max == other->rlim_max;
}

/* Only root can raise a lowered hard limit or priority again: returns what could not be restored, or NULL. */
static const char *restore_limits(void)
{
	const char *left = NULL;

	for (int number = 0; number < (int) RLIM_NLIMITS; number++) {
		const struct rlimit *wanted = &before.limits[number];
		struct rlimit now;

		if (getrlimit((__rlimit_resource_t) number, &now) == 0 && !is_limited_alike(&now, wanted)
				&& setrlimit((__rlimit_resource_t) number, wanted) != 0) {
			left = "a limit";
		}
	}
	if (getpriority(PRIO_PROCESS, 0) != before.priority && setpriority(PRIO_PROCESS, 0, before.priority) != 0) {
		left = "the priority";
	}
	return left;
}

static const char *restore_processors(void)
{
	cpu_set_t now;
	bool same = sched_getaffinity(0, sizeof now, &now) != 0 || CPU_EQUAL(&now, &before.processors);

	return same || sched_setaffinity(0, sizeof before.processors, &before.processors) == 0 ? NULL : "the processors";
}

const char *hearth_process_restore(void)
{
	const char *identity, *limits, *processors;

	if (EXPECTED(!before.noted)) {
		return NULL;
	}
	before.noted = false;
	hearth_signal_handlers_restore();
	restore_signals();
	/* First the user: the rights to restore the rest come with it. */
	identity = hearth_identity_restore();
	limits = restore_limits();
	processors = restore_processors();
	return identity ? identity : limits ? limits : processors;
}

/* ---- what libraries change by themselves ---- */

void hearth_process_keep(hearth_process_state *state, uint8_t what)
{
	state->kept = what;
	if (what & HEARTH_KEEPS_LOCALE) {
		snprintf(state->locale, sizeof state->locale, "%s", setlocale(LC_ALL, NULL));
	}
	for (int number = 1; (what & HEARTH_KEEPS_SIGNALS) && number < 32; number++) {
		sigaction(number, NULL, &state->actions[number]);
	}
	if (what & HEARTH_KEEPS_MASK) {
		sigprocmask(SIG_BLOCK, NULL, &state->blocked);
	}
}

void hearth_process_put_back(const hearth_process_state *state)
{
	if ((state->kept & HEARTH_KEEPS_LOCALE) && strcmp(setlocale(LC_ALL, NULL), state->locale) != 0) {
		setlocale(LC_ALL, state->locale);
	}
	for (int number = 1; (state->kept & HEARTH_KEEPS_SIGNALS) && number < 32; number++) {
		struct sigaction now;

		if (sigaction(number, NULL, &now) == 0 && now.sa_handler != state->actions[number].sa_handler) {
			sigaction(number, &state->actions[number], NULL);
		}
	}
	if (state->kept & HEARTH_KEEPS_MASK) {
		sigprocmask(SIG_SETMASK, &state->blocked, NULL);
	}
}

/* Extensions whose functions are all intercepted. */
static const struct { const char *extension; uint8_t keeps; } libraries[] = {
	{"ps", HEARTH_KEEPS_LOCALE},     /* takes the C locale for numbers */
	/* libedit's handlers, from readline_callback_handler_install() on, pass each signal on to the whole process group. */
	{"readline", HEARTH_KEEPS_SIGNALS},
	{"smbclient", HEARTH_KEEPS_MASK}, /* blocks SIGPIPE, which programs that are started inherit */
};

static uint8_t kept_by(const zend_function *function)
{
	const zend_module_entry *module = function->type == ZEND_INTERNAL_FUNCTION ? function->internal_function.module : NULL;

	for (size_t i = 0; module && i < sizeof libraries / sizeof *libraries; i++) {
		if (strcmp(module->name, libraries[i].extension) == 0) {
			return libraries[i].keeps;
		}
	}
	return 0;
}

static void keep_of_extensions(HashTable *table)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(table, function) {
		uint8_t keeps = kept_by(function);

		if (keeps) {
			hearth_intercept_of(function)->keeps |= keeps;
		}
	} ZEND_HASH_FOREACH_END();
}

/* libfbclient installs handlers for SIGINT and SIGTERM at the first connection. */
static void keep_signals(const char *method)
{
	zend_class_entry *pdo = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	zend_function *function = pdo ? zend_hash_str_find_ptr(&pdo->function_table, method, strlen(method)) : NULL;

	if (function && zend_hash_str_exists(&module_registry, ZEND_STRL("pdo_firebird"))) {
		hearth_intercept_of(function)->keeps |= HEARTH_KEEPS_SIGNALS;
	}
}

/* ---- which functions ---- */

void hearth_intercept_process(void)
{
	zend_class_entry *ce;

	keep_of_extensions(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		keep_of_extensions(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
	keep_signals("__construct");
	keep_signals("connect");
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i], strlen(functions[i]));

		if (function) {
			hearth_intercept_of(function)->of_process = true;
		}
	}
}
