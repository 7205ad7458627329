/*
 * Notices the first use of a superglobal by a request.
 *
 * The compiler turns `$_GET['a']` into a FETCH opcode with the "global" flag. We watch those opcodes with user opcode
 * handlers: a handler that never names a superglobal pays nothing.
 */
#include "engine/replace.h"
#include "mode/mode.h"
#include "request/request.h"
#include "session/session.h"

/* $_POST, $_FILES, $_REQUEST */
static bool is_of_form(const char *name)
{
	return name[1] == 'P' || name[1] == 'F' || name[1] == 'R';
}

/* Called when waiting for the body threw. The engine frees the result of an opcode that throws, so the result is unset. */
static int thrown(zend_execute_data *frame, const zend_op *opline)
{
	if (opline->result_type & (IS_VAR | IS_TMP_VAR)) {
		ZVAL_UNDEF(ZEND_CALL_VAR(frame, opline->result.var));
	}
	return ZEND_USER_OPCODE_CONTINUE;
}

static int on_fetch(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;

	if ((opline->extended_value & (ZEND_FETCH_GLOBAL | ZEND_FETCH_LOCAL | ZEND_FETCH_GLOBAL_LOCK)) == ZEND_FETCH_GLOBAL
			&& opline->op1_type == IS_CONST) {
		zval *name = RT_CONSTANT(opline, opline->op1);

		if (Z_TYPE_P(name) == IS_STRING && Z_STRVAL_P(name)[0] == '_') {
			hearth_superglobals_need(is_of_form(Z_STRVAL_P(name)));
			if (UNEXPECTED(EG(exception))) {
				return thrown(frame, opline);
			}
		}
	}
	return ZEND_USER_OPCODE_DISPATCH;
}

/* Code that catches the exception of a failed read may read again: the engine would take that read for the end. */
static int on_caught(zend_execute_data *frame)
{
	(void) frame;
	hearth_body_mend();
	return ZEND_USER_OPCODE_DISPATCH;
}

/* Functions of PHP that read superglobals without an opcode. The first HEADER_READERS need nothing of the body. */
#define HEADER_READERS 2
#define READERS 7
#define SESSION_READER 0
#define BODY_READER (READERS - 1)
static const char *const readers[READERS] = {
	"session_start", "phpinfo", "filter_input", "filter_input_array", "filter_has_var", "mb_http_input", "request_parse_body",
};
static zif_handler reader_handlers[READERS];
static zend_function *reader_functions[READERS];

static void read_input(int i, INTERNAL_FUNCTION_PARAMETERS)
{
	hearth_request_state *state = hearth_current_request();
	/* request_parse_body() reads the rest of the body, which may be all of it. */
	bool locks = i == BODY_READER && state && state->request && state->body_reader != hearth_current;
	bool opens = i == SESSION_READER && !hearth_session_is_open();

	if (locks && !hearth_body_lock(state)) {
		return;
	}
	reader_handlers[i](INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (opens) {
		hearth_session_begun();
	}
	if (locks) {
		hearth_body_unlock(state);
	}
}

static void on_reader(INTERNAL_FUNCTION_PARAMETERS)
{
	for (int i = 0; i < READERS; i++) {
		if (EX(func) == reader_functions[i]
				|| (reader_functions[i] && zend_string_equals(EX(func)->common.function_name, reader_functions[i]->common.function_name))) {
			hearth_superglobals_need(i >= HEADER_READERS);
			if (!EG(exception)) {
				read_input(i, INTERNAL_FUNCTION_PARAM_PASSTHRU);
			}
			return;
		}
	}
}

static void hook_opcodes(void)
{
	static const zend_uchar opcodes[] = {
		ZEND_FETCH_R, ZEND_FETCH_W, ZEND_FETCH_RW, ZEND_FETCH_IS, ZEND_FETCH_FUNC_ARG, ZEND_FETCH_UNSET,
		/* empty() and unset() of a whole superglobal */
		ZEND_ISSET_ISEMPTY_VAR, ZEND_UNSET_VAR,
	};

	for (size_t i = 0; i < sizeof opcodes; i++) {
		zend_set_user_opcode_handler(opcodes[i], on_fetch);
	}
	zend_set_user_opcode_handler(ZEND_CATCH, on_caught);
	zend_set_user_opcode_handler(ZEND_FAST_CALL, on_caught); /* finally */
}

static void hook_functions(void)
{
	for (int i = 0; i < READERS; i++) {
		reader_functions[i] = hearth_replace_function(readers[i], &reader_handlers[i], on_reader);
	}
}

void hearth_first_use_hook(void)
{
	hook_opcodes();
	hook_functions();
}
