/*
 * The C stacks of tasks and Fibers: how deep they may get, and what happens beyond.
 *
 * PHP before 8.3 does not check how much of its stack is left, and Debian's build of it has frames of up to 256 KiB without
 * stack probes, which step over the one guard page that the engine has. So the lower part of each stack is a guard of ours:
 *
 *   high                                                                     low
 *   | touched by usual code | grows at the first touch |    soft | hard | wall | engine's guard page |
 *
 * A touch of a protected page is a SIGSEGV, which is handled on a stack of its own:
 * - above the guard the stack grows: pages that are no longer protected are given back when the task has ended;
 * - the soft part is opened step by step, and the VM raises an Error at its next check: all recursion through PHP code
 *   passes it;
 * - the hard part is reached by recursion in C alone (serialize(), a long list that is freed). If PHP's own code is
 *   interrupted, that is a fatal error of the task. Other libraries may hold a lock, so they go on to the next step;
 * - the wall is never opened: the process ends by SIGSEGV, as without the guard.
 *
 * One protection covers the guard and the part not grown yet, so that a stack takes two mappings
 * (vm.max_map_count).
 */
#include "task/task.h"
#include "task/no_suspend.h"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(HEARTH_VALGRIND)
# include <valgrind/valgrind.h>
#endif

/* Bytes that may be touched from the start. */
#define TOUCHED (256 * 1024)
#define STEP (64 * 1024)
#define SOFT_STEPS 8
#define HARD_STEPS 8
/* Larger than the largest frame: lzf_compress() of php-redis has 262,168 bytes. */
#define WALL_STEPS 8
#define STEPS (SOFT_STEPS + HARD_STEPS + WALL_STEPS)
/* Large enough to report a fatal error in the handler. */
#define SIGNAL_STACK (256 * 1024)
/* More than an interrupt of the VM uses: one that is handled closer to the guard would touch it, and cause the next. */
#define INTERRUPT_STACK (16 * 1024)
#define MOST_TEXTS 64

struct hearth_stack {
	char *low, *high;
	char *guard;                     /* the upper end of the guard: the stack grows above it */
	char *fresh;                     /* addresses above may be touched from the start */
	char *open;                      /* addresses above may be touched now */
	size_t step;
	hearth_stack *previous, *next;
#if defined(HEARTH_VALGRIND)
	unsigned id;
#endif
};

static int handle = -1;
static size_t page;
static hearth_stack *stacks;
size_t hearth_stack_count;
/* The number of stacks that are open below the upper end of their guard. */
static size_t exceeded;
static struct sigaction before;
static stack_t signal_stack;
/* The code of libphp and of extensions. */
static struct { uintptr_t from, to; } texts[MOST_TEXTS];
static size_t text_count;

hearth_stack *hearth_stack_of(const zend_fiber_context *context)
{
	return handle >= 0 && context ? context->reserved[handle] : NULL;
}

size_t hearth_stack_size_for(size_t size)
{
	return size + STEPS * STEP;
}

void *hearth_stack_limit(const zend_fiber_context *context)
{
	const hearth_stack *stack = hearth_stack_of(context);

	return stack ? stack->guard : HEARTH_STACK_BOUNDS(context)->pointer;
}

/* ---- guards ---- */

static void protect(hearth_stack *stack, char *open)
{
	exceeded += (open < stack->guard) - (stack->open < stack->guard);
	if (open > stack->open) {
		mprotect(stack->open, (size_t) (open - stack->open), PROT_NONE);
	} else {
		mprotect(open, (size_t) (stack->open - open), PROT_READ | PROT_WRITE);
	}
	stack->open = open;
}

/* Returns the bytes of one step. The stack of a Fiber may be too small for a guard: 0. */
static size_t step_for(size_t size)
{
	size_t step = MIN(STEP, size / (4 * STEPS)) / page * page;

	return size >= hearth_stack_size_for(TOUCHED) ? STEP : step;
}

/* Whether the engine's stack has the known layout: its handle is just below the upper end. */
static bool is_as_known(const zend_fiber_context *context)
{
	const hearth_stack_bounds *bounds = HEARTH_STACK_BOUNDS(context);
	uintptr_t high = (uintptr_t) bounds->pointer + bounds->size;

	return (uintptr_t) bounds->pointer % page == 0 && high % page == 0
		&& (uintptr_t) context->handle <= high && (uintptr_t) context->handle > high - page;
}

static void on_init(zend_fiber_context *context)
{
	const hearth_stack_bounds *bounds = HEARTH_STACK_BOUNDS(context);
	hearth_stack *stack;
	size_t step;

	context->reserved[handle] = NULL;
	if (!is_as_known(context) || !(step = step_for(bounds->size))) {
		return;
	}
	stack = pecalloc(1, sizeof *stack, 1);
	stack->low = bounds->pointer;
	stack->high = stack->open = stack->low + bounds->size;
	stack->step = step;
	stack->guard = stack->low + STEPS * step;
	stack->fresh = MAX(stack->guard, stack->high - TOUCHED);
	/* The kernel joins two mappings that were both writable: else the engine's guard page would stay one of its own. */
	mprotect(stack->low - page, page, PROT_READ | PROT_WRITE);
	mprotect(stack->low - page, (size_t) (stack->fresh - stack->low) + page, PROT_NONE);
	stack->open = stack->fresh;
	hearth_stack_count++;
	stack->next = stacks;
	if (stacks) {
		stacks->previous = stack;
	}
	stacks = stack;
#if defined(HEARTH_VALGRIND)
	stack->id = VALGRIND_STACK_REGISTER(stack->low, stack->high);
#endif
	context->reserved[handle] = stack;
}

static void on_destroy(zend_fiber_context *context)
{
	hearth_stack *stack = context->reserved[handle];

	hearth_sections_forget(context);
	hearth_use_forget_stack(context);
	if (!stack) {
		return;
	}
	hearth_stack_count--;
	exceeded -= stack->open < stack->guard;
#if defined(HEARTH_VALGRIND)
	VALGRIND_STACK_DEREGISTER(stack->id);
#endif
	if (stack->next) {
		stack->next->previous = stack->previous;
	}
	*(stack->previous ? &stack->previous->next : &stacks) = stack->next;
	context->reserved[handle] = NULL;
	pefree(stack, 1);
}

void hearth_stack_trim(const zend_fiber_context *context)
{
	hearth_stack *stack = hearth_stack_of(context);

	if (UNEXPECTED(stack && stack->open < stack->fresh)) {
		madvise(stack->open, (size_t) (stack->fresh - stack->open), MADV_DONTNEED);
		protect(stack, stack->fresh);
	}
}

void hearth_stack_rearm(const zend_fiber_context *context)
{
	hearth_stack *stack = hearth_stack_of(context);

	if (UNEXPECTED(stack && stack->open < stack->guard)) {
		protect(stack, stack->guard);
	}
}

/* Code that a fatal error runs there, such as an output callback, cannot be left: the next fault would use that stack. */
bool hearth_stack_is_for_signals(void)
{
	char *here = __builtin_frame_address(0), *low = signal_stack.ss_sp;

	return here >= low && here < low + signal_stack.ss_size;
}

/* ---- too deep ---- */

static hearth_stack *stack_with(const char *address)
{
	for (hearth_stack *stack = stacks; stack; stack = stack->next) {
		if (address >= stack->low && address < stack->high) {
			return stack;
		}
	}
	return NULL;
}

static size_t usable(const hearth_stack *stack)
{
	return (size_t) (stack->high - stack->guard);
}

#define TOO_DEEP "Maximum call stack size of %zu bytes reached. Infinite recursion?"

void hearth_stack_check(void)
{
	const char *here = __builtin_frame_address(0);
	hearth_stack *stack = UNEXPECTED(exceeded) ? stack_with(here) : NULL;

	if (EXPECTED(!stack) || stack->open >= stack->guard) {
		return;
	}
	if (here >= stack->guard + INTERRUPT_STACK) {
		/* A single deep call went below the guard, and it has returned. */
		protect(stack, stack->guard);
	} else if (!EG(exception)) {
		zend_throw_error(NULL, TOO_DEEP, usable(stack));
	}
}

/* ---- the signal ---- */

#if defined(__x86_64__)
# define PROGRAM_COUNTER(context) ((uintptr_t) (context)->uc_mcontext.gregs[REG_RIP])
# define STACK_POINTER(context) ((char *) (context)->uc_mcontext.gregs[REG_RSP])
#elif defined(__aarch64__)
# define PROGRAM_COUNTER(context) ((uintptr_t) (context)->uc_mcontext.pc)
# define STACK_POINTER(context) ((char *) (context)->uc_mcontext.sp)
#else
# error "Hearth runs on x86-64 and arm64"
#endif

/* False for the C library, which may hold the lock of its heap, and for other libraries, which may hold any lock. */
static bool is_php(uintptr_t counter)
{
	for (size_t i = 0; i < text_count; i++) {
		if (counter >= texts[i].from && counter < texts[i].to) {
			return true;
		}
	}
	return false;
}

/* Does not return: the code on that stack is left, as at any other fatal error. */
static void end_task(const hearth_stack *stack)
{
	hearth_on_leave((hearth_str){ZEND_STRL("a stack overflow in PHP")}, false);
	zend_error_noreturn(E_ERROR, TOO_DEEP, usable(stack));
}

/* Opens the part of the stack that was touched; false for the wall. */
static bool give_way(hearth_stack *stack, const char *address, uintptr_t counter)
{
	size_t step;

	if (address >= stack->open) {
		return false;
	}
	if (address >= stack->guard) {
		protect(stack, stack->guard);
		return true;
	}
	step = (size_t) (stack->guard - 1 - address) / stack->step;
	if (step >= SOFT_STEPS + HARD_STEPS) {
		return false;
	}
	protect(stack, stack->guard - (step + 1) * stack->step);
	if (step >= SOFT_STEPS && is_php(counter) && EG(bailout)) {
		end_task(stack);
	}
	hearth_interrupt();
	return true;
}

/* The instruction runs again, and faults again: this time without our handler. */
static void pass_on(const siginfo_t *info)
{
	if (info->si_code <= 0) {
		/* Another process or thread sent it. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		return;
	}
	sigaction(SIGSEGV, &before, NULL);
}

static void on_fault(int number, siginfo_t *info, void *interrupted)
{
	const ucontext_t *context = interrupted;
	const char *address = info->si_addr;
	hearth_stack *stack = NULL;
	int saved = errno;

	(void) number;
	if (info->si_code == SI_KERNEL) {
		/* The frame of another signal did not fit: the kernel reports no address. */
		address = STACK_POINTER(context) - 8 * 1024;
	}
	if (info->si_code > 0) {
		stack = stack_with(address);
	}
	if (!stack || !give_way(stack, address, PROGRAM_COUNTER(context))) {
		pass_on(info);
	}
	errno = saved;
}

static int note_texts(struct dl_phdr_info *object, size_t size, void *extensions)
{
	uintptr_t known = (uintptr_t) zend_call_function;
	bool is_libphp = false;
	size_t first = text_count;

	(void) size;
	for (int i = 0; i < object->dlpi_phnum && text_count < MOST_TEXTS; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X)) {
			uintptr_t from = object->dlpi_addr + header->p_vaddr;

			texts[text_count].from = from;
			texts[text_count].to = from + header->p_memsz;
			is_libphp |= known >= from && known < texts[text_count].to;
			text_count++;
		}
	}
	/* opcache writes to memory that all workers share, under a lock. */
	if (!is_libphp && (strncmp(object->dlpi_name, extensions, strlen(extensions)) != 0 || strstr(object->dlpi_name, "/opcache.so"))) {
		text_count = first;
	}
	return 0;
}

static void find_texts(void)
{
	text_count = 0;
	dl_iterate_phdr(note_texts, PG(extension_dir));
}

static bool has_signal_stack(void)
{
	void *place = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (place == MAP_FAILED) {
		return false;
	}
	signal_stack.ss_sp = place;
	signal_stack.ss_size = SIGNAL_STACK;
	return sigaltstack(&signal_stack, NULL) == 0;
}

void hearth_stack_hook(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (handle < 0) {
		return;
	}
	find_texts();
	if (has_signal_stack()) {
		sigemptyset(&action.sa_mask);
		sigaction(SIGSEGV, &action, &before);
	}
	/* With that, a Fiber can use as much as without a guard. */
	EG(fiber_stack_size) = (zend_long) hearth_stack_size_for((size_t) EG(fiber_stack_size));
}

void hearth_stack_startup(void)
{
	page = (size_t) sysconf(_SC_PAGESIZE);
	handle = zend_get_resource_handle("Hearth");
	if (handle >= 0) {
		zend_observer_fiber_init_register(on_init);
		zend_observer_fiber_destroy_register(on_destroy);
	}
}
