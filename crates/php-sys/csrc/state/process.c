/*
 * State that the system and the C library keep for the process, compared as text: each fact is a line with a name.
 *
 * It shows in no memory of a library: the working directory, limits and open descriptors are the kernel's, the locale and
 * the environment lie in the C library among much that does not concern PHP code.
 */
#include "compat.h"
#include "engine/programs.h"
#include "state/check.h"
#include "state/rows.h"

#include <dirent.h>
#include <dlfcn.h>
#include <libintl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

/* `treatment` applies to all facts of that kind. */
typedef struct { HashTable *into; int treatment; } facts;

typedef struct { int treatment; char text[]; } fact;

static void drop_fact(zval *value)
{
	pefree(Z_PTR_P(value), 1);
}

static void add(const facts *to, const char *name, const char *text)
{
	fact *one = pemalloc(sizeof *one + strlen(text) + 1, 1);

	one->treatment = to->treatment;
	strcpy(one->text, text);
	zend_hash_str_update_ptr(to->into, name, strlen(name), one);
}

ZEND_ATTRIBUTE_FORMAT(printf, 3, 4)
static void add_as(const facts *to, const char *name, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	add(to, name, text);
}

/* ---- the C library ---- */

static void add_locale(const facts *to)
{
	static const struct { int category; const char *name; } categories[] = {
		{LC_CTYPE, "locale LC_CTYPE"}, {LC_NUMERIC, "locale LC_NUMERIC"}, {LC_TIME, "locale LC_TIME"}, {LC_COLLATE, "locale LC_COLLATE"},
		{LC_MONETARY, "locale LC_MONETARY"}, {LC_MESSAGES, "locale LC_MESSAGES"},
	};

	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
		add(to, categories[i].name, setlocale(categories[i].category, NULL));
	}
	add(to, "text domain", textdomain(NULL));
}

static void add_environment(const facts *to)
{
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');
		char name[256];

		if (equals) {
			snprintf(name, sizeof name, "environment %.*s", (int) (equals - *entry), *entry);
			add(to, name, equals + 1);
		}
	}
}

/* ---- the kernel ---- */

static void add_umask(const facts *to)
{
	mode_t now = umask(0);

	umask(now);
	add_as(to, "umask", "%03o", (unsigned) now);
}

static void add_directory(const facts *to)
{
	char now[MAXPATHLEN];

	add(to, "working directory", getcwd(now, sizeof now) ? now : strerror(errno));
}

/* The C library sets this flag in every action that it passes to the kernel. */
#define HEARTH_SA_RESTORER 0x04000000

static void add_signals(const facts *to)
{
	struct sigaction action;
	sigset_t blocked;
	char name[64];

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int number = 1; number < NSIG; number++) {
		if (sigaction(number, NULL, &action) == 0) {
			snprintf(name, sizeof name, "signal %d", number);
			add_as(to, name, "handler %p, flags %#x%s", (void *) action.sa_handler, (unsigned) (action.sa_flags & ~HEARTH_SA_RESTORER),
				sigismember(&blocked, number) == 1 ? ", blocked" : "");
		}
	}
}

/* Without ITIMER_PROF, which the engine itself uses for max_execution_time. */
static void add_timers(const facts *to)
{
	struct itimerval timer;

	add(to, "timer real", getitimer(ITIMER_REAL, &timer) == 0 && timerisset(&timer.it_value) ? "set" : "not set");
	add(to, "timer virtual", getitimer(ITIMER_VIRTUAL, &timer) == 0 && timerisset(&timer.it_value) ? "set" : "not set");
}

static void add_limits(const facts *to)
{
	struct rlimit limit;
	cpu_set_t processors;
	char name[64];

	for (int number = 0; number < (int) RLIM_NLIMITS; number++) {
		if (getrlimit((__rlimit_resource_t) number, &limit) == 0) {
			snprintf(name, sizeof name, "limit %d", number);
			add_as(to, name, "%llu of %llu", (unsigned long long) limit.rlim_cur, (unsigned long long) limit.rlim_max);
		}
	}
	add_as(to, "priority", "%d", getpriority(PRIO_PROCESS, 0));
	if (sched_getaffinity(0, sizeof processors, &processors) == 0) {
		add_as(to, "processors", "%d", CPU_COUNT(&processors));
	}
}

static void add_identity(const facts *to)
{
	gid_t groups[64];
	int count = getgroups(64, groups);

	add_as(to, "user and group", "%u %u %u %u, %d groups", (unsigned) getuid(), (unsigned) geteuid(), (unsigned) getgid(), (unsigned) getegid(), count);
	add_as(to, "session and process group", "%d %d", (int) getsid(0), (int) getpgrp());
}

/* Adds the entries of a folder of /proc, without the descriptor that reads it. */
static void add_folder(const facts *to, const char *path, void (*add_one)(const facts *to, const char *path, const char *name))
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (*entry->d_name != '.' && atoi(entry->d_name) != dirfd(folder)) {
			add_one(to, path, entry->d_name);
		}
	}
	if (folder) {
		closedir(folder);
	}
}

/* Whether it is a file that a library opens once. */
static bool is_of_library(const char *target)
{
	static const char *const names[] = {"/libuuid/clock.txt", "/firebird.msg", "/dev/random", "/dev/urandom"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strstr(target, names[i])) {
			return true;
		}
	}
	return false;
}

static void add_descriptor(const facts *to, const char *path, const char *number)
{
	char place[300], name[64], target[MAXPATHLEN];
	ssize_t length;

	snprintf(place, sizeof place, "%s/%s", path, number);
	length = readlink(place, target, sizeof target - 1);
	if (length >= 0) {
		target[length] = '\0';
		snprintf(name, sizeof name, "descriptor %.40s", number);
		if (!is_of_library(target)) { add(to, name, target); }
	}
}

/* Reads one line of a file of /proc. */
static void read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");

	*line = '\0';
	if (file) {
		if (fgets(line, (int) size, file)) {
			line[strcspn(line, "\n")] = '\0';
		}
		fclose(file);
	}
}

static bool has_ended(const char *pid)
{
	char place[300], line[512];
	const char *state;

	snprintf(place, sizeof place, "/proc/%s/stat", pid);
	read_line(place, line, sizeof line);
	state = strrchr(line, ')');
	return state && strchr("ZX", state[2]);
}

/* A program goes on when its request has ended, as under php-fpm; what is left when it has ended is a fault. */
static void add_children(const facts *to, const char *path, const char *number)
{
	char place[300], name[64], children[512], *rest;

	snprintf(place, sizeof place, "%s/%s/children", path, number);
	read_line(place, children, sizeof children);
	for (const char *child = strtok_r(children, " ", &rest); child; child = strtok_r(NULL, " ", &rest)) {
		snprintf(name, sizeof name, "child process %.40s", child);
		if (!has_ended(child)) {
			add(to, name, "runs");
			continue;
		}
		/* It may have ended since this process asked. */
		hearth_programs_reap();
		if (kill((pid_t) atoi(child), 0) == 0) {
			add(to, name, "has ended, and its parent has not asked");
		}
	}
}

/* ---- libraries that keep state for each thread ---- */

/* Adds the value behind a function that returns its address, such as libxml2's accessors. */
static void add_value(const facts *to, const char *accessor, const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, accessor);

	if (function) {
		add_as(to, name, "%d", *((int *(*)(void)) function)());
	}
}

static void add_pointer(const facts *to, const char *accessor, const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, accessor);

	if (function) {
		add_as(to, name, "%p", *((void **(*)(void)) function)());
	}
}

static void add_libxml(const facts *to)
{
	static const struct { const char *accessor, *name; } values[] = {
		{"__xmlSubstituteEntitiesDefaultValue", "libxml entities"}, {"__xmlLoadExtDtdDefaultValue", "libxml external DTD"},
		{"__xmlPedanticParserDefaultValue", "libxml pedantic"}, {"__xmlKeepBlanksDefaultValue", "libxml blanks"},
		{"__xmlIndentTreeOutput", "libxml indent"}, {"__xmlSaveNoEmptyTags", "libxml empty tags"},
		{"__xmlDoValidityCheckingDefaultValue", "libxml validity"}, {"__xmlGetWarningsDefaultValue", "libxml warnings"},
		{"__xmlLineNumbersDefaultValue", "libxml line numbers"}, {"__xmlParserDebugEntities", "libxml debug"},
	};
	static const struct { const char *accessor, *name; } pointers[] = {
		{"__xmlGenericError", "libxml error function"}, {"__xmlGenericErrorContext", "libxml error context"},
		{"__xmlStructuredError", "libxml structured error function"}, {"__xmlStructuredErrorContext", "libxml structured error context"},
		{"__xmlTreeIndentString", "libxml indent string"}, {"__xmlRegisterNodeDefaultValue", "libxml node function"},
		{"__xmlDeregisterNodeDefaultValue", "libxml node end function"},
		{"__xmlParserInputBufferCreateFilenameValue", "libxml input function"}, {"__xmlOutputBufferCreateFilenameValue", "libxml output function"},
	};
	const void *(*last_error)(void) = (const void *(*)(void)) dlsym(RTLD_DEFAULT, "xmlGetLastError");
	void *(*loader)(void) = (void *(*)(void)) dlsym(RTLD_DEFAULT, "xmlGetExternalEntityLoader");

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		add_value(to, values[i].accessor, values[i].name);
	}
	for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
		add_pointer(to, pointers[i].accessor, pointers[i].name);
	}
	if (last_error) { add(to, "libxml last error", last_error() ? "one" : "none"); }
	if (loader) { add_as(to, "libxml entity loader", "%p", loader()); }
}

static void add_openssl(const facts *to)
{
	unsigned long (*peek)(void) = (unsigned long (*)(void)) dlsym(RTLD_DEFAULT, "ERR_peek_error");

	if (peek) {
		add_as(to, "openssl error queue", "%lx", peek());
	}
}

/* ---- all of it ---- */

void hearth_process_take(HashTable *into)
{
	const facts shared = {into, HEARTH_STATE_SHARED}, open = {into, HEARTH_STATE_OPEN}, restored = {into, HEARTH_STATE_RESTORED};

	hearth_programs_reap();
	zend_hash_init(into, 256, NULL, drop_fact, 1);
	add_locale(&restored);
	add_environment(&restored);
	add_umask(&restored);
	add_directory(&restored);
	add_signals(&shared);
	add_timers(&shared);
	add_limits(&shared);
	add_identity(&shared);
	add_folder(&open, "/proc/self/fd", add_descriptor);
	add_folder(&open, "/proc/self/task", add_children);
	add_libxml(&restored);
	add_openssl(&restored);
}

/* A program that nothing has waited for. */
static bool goes_on(const char *name, const fact *after)
{
	return strncmp(name, ZEND_STRL("child process")) == 0 && (!after || strcmp(after->text, "runs") == 0);
}

static void report_change(const char *name, const fact *before, const fact *after, hearth_state_listener report, void *context)
{
	const hearth_state_row row = {name, "process", NULL, 0, before ? before->treatment : after->treatment, ""};
	const hearth_state_change change = {
		.object = "process", .kind = "process", .name = name, .words = 1, .before = before ? before->text : "", .after = after ? after->text : "", .row = &row,
		.accepted = goes_on(name, after),
	};

	report(context, &change);
}

void hearth_process_compare(const HashTable *before, hearth_state_listener report, void *context)
{
	HashTable now;
	zend_string *name;
	fact *one;

	hearth_process_take(&now);
	ZEND_HASH_FOREACH_STR_KEY_PTR(&now, name, one) {
		const fact *then = zend_hash_find_ptr(before, name);

		if (!then || strcmp(then->text, one->text) != 0) {
			report_change(ZSTR_VAL(name), then, one, report, context);
		}
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_STR_KEY_PTR((HashTable *) before, name, one) {
		if (!zend_hash_exists(&now, name)) {
			report_change(ZSTR_VAL(name), one, NULL, report, context);
		}
	} ZEND_HASH_FOREACH_END();
	zend_hash_destroy(&now);
}
