/*
 * Facts about a file: what it declares and what its code does besides, from the engine's compiler: nothing is
 * run, nothing is declared.
 *
 * For the children of `hearth preload build`, with opcache off. A file that does not compile ends the process with PHP's own
 * message. Compiled code is taken out of the tables again and never freed: the process is short-lived.
 */
#include "compat.h"
#include "preload/preload.h"

#include "zend_attributes.h"
#include "zend_enum.h"
#include "preload/facts_arginfo.h"

/* Compiles as opcache does, so that a class names its parent, and no class of this process is linked in. */
#define AS_FOR_PRELOAD (ZEND_COMPILE_IGNORE_INTERNAL_CLASSES | ZEND_COMPILE_IGNORE_OTHER_FILES | ZEND_COMPILE_DELAYED_BINDING \
	| ZEND_COMPILE_NO_CONSTANT_SUBSTITUTION | ZEND_COMPILE_NO_PERSISTENT_CONSTANT_SUBSTITUTION | ZEND_COMPILE_IGNORE_OBSERVER)

static void add(zval *set, zend_string *name)
{
	if (name && ZSTR_LEN(name)) {
		zval one;

		ZVAL_TRUE(&one);
		zend_symtable_update(Z_ARRVAL_P(set), name, &one);
	}
}

static void add_text(zval *set, const char *kind, const char *name)
{
	zend_string *text = zend_strpprintf(0, "%s%s", kind, name);

	add(set, text);
	zend_string_release(text);
}

/* Adds the classes that a constant expression names. */
static void of_expression(zval *set, zend_ast *ast)
{
	uint32_t count, n;
	zend_ast **children;

	if (!ast || ast->kind == ZEND_AST_ZVAL || ast->kind == ZEND_AST_CONSTANT) {
		return;
	}
	if (zend_ast_is_list(ast)) {
		count = zend_ast_get_list(ast)->children;
		children = zend_ast_get_list(ast)->child;
	} else if (ast->kind >> ZEND_AST_SPECIAL_SHIFT & 1) {
		return;
	} else {
		count = zend_ast_get_num_children(ast);
		children = ast->child;
	}
	if ((ast->kind == ZEND_AST_CLASS_CONST || ast->kind == ZEND_AST_NEW) && children[0] && children[0]->kind == ZEND_AST_ZVAL
		&& Z_TYPE_P(zend_ast_get_zval(children[0])) == IS_STRING) {
		add(set, Z_STR_P(zend_ast_get_zval(children[0])));
	}
	for (n = 0; n < count; n++) {
		of_expression(set, children[n]);
	}
}

static void of_value(zval *set, const zval *value)
{
	if (Z_TYPE_P(value) == IS_CONSTANT_AST) {
		of_expression(set, GC_AST(Z_AST_P(value)));
	}
}

static void of_type(zval *set, zend_type type)
{
	zend_type *single;

	ZEND_TYPE_FOREACH(type, single) {
		if (ZEND_TYPE_HAS_NAME(*single)) {
			add(set, ZEND_TYPE_NAME(*single));
		}
	} ZEND_TYPE_FOREACH_END();
}

/* Adds the classes that it names but can be linked without. */
static void uses_of(zval *set, zend_class_entry *class)
{
	zend_class_constant *constant;
	zend_property_info *property;
	int n;

	ZEND_HASH_FOREACH_PTR(&class->constants_table, constant) {
		of_value(set, &constant->value);
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(&class->properties_info, property) {
		of_type(set, property->type);
	} ZEND_HASH_FOREACH_END();
	for (n = 0; n < class->default_properties_count; n++) {
		of_value(set, &class->default_properties_table[n]);
	}
	for (n = 0; n < class->default_static_members_count; n++) {
		of_value(set, &class->default_static_members_table[n]);
	}
}

/* Adds the classes that it cannot be linked without. */
static void needs_of(zval *set, const zend_class_entry *class)
{
	uint32_t n;

	if (class->ce_flags & ZEND_ACC_RESOLVED_PARENT) {
		add(set, class->parent->name);
	} else {
		add(set, class->parent_name);
	}
	for (n = 0; n < class->num_interfaces; n++) {
		add(set, class->ce_flags & ZEND_ACC_RESOLVED_INTERFACES ? class->interfaces[n]->name : class->interface_names[n].name);
	}
	for (n = 0; n < class->num_traits; n++) {
		add(set, class->trait_names[n].name);
	}
}

static void describe_class(zval *classes, zend_class_entry *class)
{
	zval one, needs, uses;

	array_init(&one);
	array_init(&needs);
	array_init(&uses);
	needs_of(&needs, class);
	uses_of(&uses, class);
	add_assoc_str(&one, "name", zend_string_copy(class->name));
	add_assoc_bool(&one, "top", (class->ce_flags & ZEND_ACC_TOP_LEVEL) != 0);
	add_assoc_zval(&one, "needs", &needs);
	add_assoc_zval(&one, "uses", &uses);
	add_next_index_zval(classes, &one);
}

/* Returns the name of the function that is called, or of the constant that is fetched. */
static const char *operand(const zend_op *line)
{
	zval *name;

	if (line->op2_type != IS_CONST) {
		return "?";
	}
	name = RT_CONSTANT(line, line->op2);
	return Z_TYPE_P(name) == IS_STRING ? Z_STRVAL_P(name) : "?";
}

static const char *without_namespace(const char *name)
{
	const char *bare = strrchr(name, '\\');

	return bare ? bare + 1 : name;
}

static bool is_call(zend_uchar opcode)
{
	return opcode == ZEND_DO_FCALL || opcode == ZEND_DO_ICALL || opcode == ZEND_DO_FCALL_BY_NAME;
}

/* Whether the line is a jump over the other form of the call before it. */
static bool is_over_frameless(const zend_op *line)
{
	return line->opcode == ZEND_JMP && HEARTH_IS_FRAMELESS_CALL(line[1].opcode);
}

static bool is_result_unused(const zend_op *call)
{
	const zend_op *next = is_over_frameless(call + 1) ? call + 3 : call + 1;

	return call->result_type == IS_UNUSED || (next->opcode == ZEND_FREE && next->op1.var == call->result.var);
}

/* Returns the class of `class_exists(Some\Class::class);` with an unused result: such a line is there to load the class. */
static const char *loaded_by(const char *function, const zend_op *value, const zend_op *call)
{
	if ((strcasecmp(function, "class_exists") && strcasecmp(function, "interface_exists")) || !is_result_unused(call)) {
		return NULL;
	}
	if (value->op1_type != IS_CONST || Z_TYPE_P(RT_CONSTANT(value, value->op1)) != IS_STRING) {
		return NULL;
	}
	return Z_STRVAL_P(RT_CONSTANT(value, value->op1));
}

static void add_call(zval *set, const char *function, const char *class)
{
	add_text(set, class ? "loads:" : "call:", class ? class : function);
}

static void describe_call(zval *set, const zend_op *line)
{
	const char *function = line->opcode == ZEND_INIT_NS_FCALL_BY_NAME ? without_namespace(operand(line)) : operand(line);
	const zend_op *value = line + 1, *call = line + 2;
	bool has_value = line->extended_value == 1 && (value->opcode == ZEND_SEND_VAL || value->opcode == ZEND_SEND_VAL_EX);

	add_call(set, function, has_value && is_call(call->opcode) ? loaded_by(function, value, call) : NULL);
}

static void describe_frameless_call(zval *set, const zend_op *line)
{
	const char *function = HEARTH_FRAMELESS_NAME(line);

	add_call(set, function, line->op2_type == IS_UNUSED ? loaded_by(function, line, line) : NULL);
}

static void describe_line(zval *set, const zend_op *line)
{
	if (HEARTH_IS_FRAMELESS_JUMP(line->opcode) || is_over_frameless(line)) {
		return;
	}
	if (HEARTH_IS_FRAMELESS_CALL(line->opcode)) {
		return describe_frameless_call(set, line);
	}
	switch (line->opcode) {
		case ZEND_NOP: case ZEND_RETURN: case ZEND_EXT_STMT: case ZEND_EXT_NOP: case ZEND_EXT_FCALL_BEGIN: case ZEND_EXT_FCALL_END:
		case ZEND_DECLARE_CLASS: case ZEND_DECLARE_CLASS_DELAYED: case ZEND_DECLARE_ANON_CLASS: case ZEND_DECLARE_FUNCTION: case ZEND_TICKS:
		case ZEND_SEND_VAL: case ZEND_SEND_VAL_EX: case ZEND_DO_FCALL: case ZEND_DO_ICALL: case ZEND_DO_UCALL: case ZEND_DO_FCALL_BY_NAME:
		case ZEND_FREE: case ZEND_OP_DATA: case ZEND_CHECK_FUNC_ARG: case ZEND_SEND_FUNC_ARG:
			return;
		case ZEND_JMP: case ZEND_JMPZ: case ZEND_JMPNZ: case ZEND_JMPZ_EX: case ZEND_JMPNZ_EX: case ZEND_BOOL: case ZEND_BOOL_NOT:
		case ZEND_IS_SMALLER: case ZEND_IS_SMALLER_OR_EQUAL: case ZEND_IS_EQUAL: case ZEND_IS_NOT_EQUAL: case ZEND_IS_IDENTICAL:
		case ZEND_IS_NOT_IDENTICAL:
			return add_text(set, "", "branch");
		case ZEND_DEFINED:
			return add_text(set, "defined:", Z_STRVAL_P(RT_CONSTANT(line, line->op1)));
		case ZEND_INIT_FCALL: case ZEND_INIT_FCALL_BY_NAME: case ZEND_INIT_NS_FCALL_BY_NAME:
			return describe_call(set, line);
		case ZEND_FETCH_CONSTANT:
			return add_text(set, "constant:", operand(line));
		case ZEND_DECLARE_CONST:
			return add_text(set, "", "const");
		case ZEND_ECHO:
			return add_text(set, "", "echo");
		case ZEND_INCLUDE_OR_EVAL:
			return add_text(set, "", "include");
		default:
			if (hearth_is_exit(line->opcode)) {
				return add_text(set, "call:", "exit");
			}
			add_text(set, "op:", zend_get_opcode_name(line->opcode));
	}
}

static void describe_code(zval *facts, const zend_op_array *code)
{
	zval set, functions;
	uint32_t n;

	array_init(&set);
	array_init(&functions);
	for (n = 0; n < code->last; n++) {
		describe_line(&set, &code->opcodes[n]);
	}
	for (n = 0; n < code->num_dynamic_func_defs; n++) {
		const zend_op_array *function = code->dynamic_func_defs[n];

		if (!(function->fn_flags & ZEND_ACC_CLOSURE)) {
			add(&functions, function->function_name);
		}
	}
	add_assoc_zval(facts, "code", &set);
	add_assoc_zval(facts, "conditional", &functions);
}

/* Removes the entries from `from` on from a table, without destroying them. */
static void forget(HashTable *table, uint32_t from)
{
	dtor_func_t destroy = table->pDestructor;
	uint32_t n;

	table->pDestructor = NULL;
	for (n = table->nNumUsed; n > from; n--) {
		if (Z_TYPE(table->arData[n - 1].val) != IS_UNDEF) {
			zend_hash_del_bucket(table, &table->arData[n - 1]);
		}
	}
	table->pDestructor = destroy;
}

static void describe_declared(zval *facts, uint32_t classes_before, uint32_t functions_before)
{
	zval classes, functions;
	uint32_t n;

	array_init(&classes);
	array_init(&functions);
	for (n = classes_before; n < CG(class_table)->nNumUsed; n++) {
		const zval *value = &CG(class_table)->arData[n].val;

		if (Z_TYPE_P(value) == IS_PTR && !(((zend_class_entry *) Z_PTR_P(value))->ce_flags & ZEND_ACC_ANON_CLASS)) {
			describe_class(&classes, Z_PTR_P(value));
		}
	}
	for (n = functions_before; n < CG(function_table)->nNumUsed; n++) {
		const zval *value = &CG(function_table)->arData[n].val;

		if (Z_TYPE_P(value) == IS_PTR && !(((zend_function *) Z_PTR_P(value))->common.fn_flags & ZEND_ACC_CLOSURE)) {
			add(&functions, ((zend_function *) Z_PTR_P(value))->common.function_name);
		}
	}
	add_assoc_zval(facts, "classes", &classes);
	add_assoc_zval(facts, "functions", &functions);
}

/* Hearth\Internal\preloadFacts(string $file): array */
ZEND_FUNCTION(Hearth_Internal_preloadFacts)
{
	zend_file_handle handle;
	zend_op_array *code;
	zend_string *file;
	uint32_t classes, functions, options = CG(compiler_options);

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_PATH_STR(file)
	ZEND_PARSE_PARAMETERS_END();
	array_init(return_value);
	classes = CG(class_table)->nNumUsed;
	functions = CG(function_table)->nNumUsed;
	zend_stream_init_filename_ex(&handle, file);
	CG(compiler_options) |= AS_FOR_PRELOAD;
	code = zend_compile_file(&handle, ZEND_INCLUDE);
	CG(compiler_options) = options;
	if (code) {
		describe_declared(return_value, classes, functions);
		describe_code(return_value, code);
		forget(CG(class_table), classes);
		forget(CG(function_table), functions);
	}
	zend_destroy_file_handle(&handle);
}

void hearth_register_preload_facts(void)
{
	zend_long enabled;

	if (cfg_get_long("hearth.preload_facts", &enabled) == SUCCESS && enabled) {
		zend_register_functions(NULL, ext_functions, NULL, MODULE_PERSISTENT);
	}
}
