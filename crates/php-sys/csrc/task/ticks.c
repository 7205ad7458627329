/*
 * Tick functions. While they run, the engine forbids a switch of Fibers. A task may wait in one: another task can only do to
 * the list of its request what the function itself could do, and the engine is ready for that. So the block is put
 * away while the task is left: it is not meant for the other tasks.
 */
#include "task/ticks.h"

static void (*run_ticks)(int);

/* The number of blocks in force that are around tick functions. */
static uint32_t running;

/* The engine only tells whether a switch is forbidden, not how often it was. */
static uint32_t count_blocks(void)
{
	uint32_t count = 0;

	for (; zend_fiber_switch_blocked(); count++) {
		zend_fiber_switch_unblock();
	}
	for (uint32_t i = 0; i < count; i++) {
		zend_fiber_switch_block();
	}
	return count;
}

static void on_ticks(int count)
{
	running++;
	run_ticks(count);
	running--;
}

hearth_blocks hearth_blocks_in_force(void)
{
	return zend_fiber_switch_blocked() ? (hearth_blocks){.all = count_blocks(), .ticks = running} : (hearth_blocks){0};
}

bool hearth_blocks_allow_suspend(void)
{
	return EXPECTED(!zend_fiber_switch_blocked()) || count_blocks() == running;
}

hearth_blocks hearth_blocks_put_away(hearth_blocks outer)
{
	hearth_blocks blocks = hearth_blocks_in_force();
	hearth_blocks own = {.all = blocks.all - outer.all, .ticks = blocks.ticks - outer.ticks};

	for (uint32_t i = 0; i < own.all; i++) {
		zend_fiber_switch_unblock();
	}
	running -= own.ticks;
	return own;
}

void hearth_blocks_put_back(hearth_blocks own)
{
	for (uint32_t i = 0; i < own.all; i++) {
		zend_fiber_switch_block();
	}
	running += own.ticks;
}

void hearth_blocks_reset(hearth_blocks outer)
{
	while (zend_fiber_switch_blocked()) {
		zend_fiber_switch_unblock();
	}
	running = 0;
	hearth_blocks_put_back(outer);
}

void hearth_ticks_hook(void)
{
	run_ticks = zend_ticks_function;
	if (run_ticks) {
		zend_ticks_function = on_ticks;
	}
}
