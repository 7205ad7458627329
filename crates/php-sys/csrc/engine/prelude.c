/*
 * Hearth's PHP library: part of the program, and compiled class by class when a class is first named. A script that names
 * none of them pays nothing for the library and sees nothing of it.
 *
 * opcache knows files; to opcache such code is code of eval() and gets none of what files get. So this file adds it: strings
 * that are known by their address, and the optimizer. Per database query of a pool that saves a tenth of the instructions.
 */
#include "engine/engine.h"
#include "cache/cache.h"
#include "pool/entry.h"
#include "pool/pool.h"
#include "request/request.h"
#include "task/interrupted.h"

/* ---- strings ---- */

/*
 * With opcache, the compiler makes no interned strings: opcache makes them when it stores a script, and code of eval() is
 * never stored. Then class names have no cache of their class either, and each write to a property of class type looks it up
 * by name. So while the library is compiled, a string that opcache does not have is interned by the engine's own function,
 * as without opcache: for the request, which here is the life of the process or of `hearth run`.
 *
 * It relies on (8.2, 8.4):
 * - Until opcache starts, after the modules, the engine's function is the one for requests.
 * - CG(interned_strings) is set up at the start and freed at the end of every request, opcache or not.
 * - opcache tells its own strings by their address, not by a flag, and keeps no class of which a parent is not its own.
 */
static zend_new_interned_string_func_t of_engine, of_requests;

/* Called at the startup of modules. */
void hearth_prelude_prepare(void)
{
	zend_interned_strings_switch_storage(1);
	of_engine = zend_new_interned_string;
	zend_interned_strings_switch_storage(0);
}

static zend_string *ZEND_FASTCALL intern(zend_string *string)
{
	string = of_requests(string);
	return ZSTR_IS_INTERNED(string) ? string : of_engine(string);
}

/*
 * The cache of a class is a slot behind CG(map_ptr_last), and scripts in opcache's shared memory use the same numbers. A
 * process that stores a script there takes numbers from the larger of its own and the shared count. Processes that share
 * that memory are forks of one process that had set slots aside for the library: so a class of the library that only one of
 * them compiles has no number that another process gives to something else.
 */
#define SLOTS 1024
#define SLOTS_OF_A_FILE 128
static size_t next_slot, last_slot;

static void set_slots_aside(void)
{
	next_slot = CG(map_ptr_last);
	for (int i = 0; i < SLOTS; i++) {
		zend_map_ptr_new();
	}
	last_slot = CG(map_ptr_last);
}

/* ---- compiling ---- */

static zend_long level;

/* The same optimization level as for the app's files; for `hearth run`, optimizing does not pay. */
static zend_long level_of_opcache(void)
{
	bool used = !hearth_is_cli() && zend_hash_str_exists(EG(ini_directives), ZEND_STRL("opcache.enable"))
		&& INI_BOOL("opcache.enable");

	return used ? INI_INT("opcache.optimization_level") : 0;
}

/* Collects what was added to a table of the compiler since it had `before` elements; nothing is removed meanwhile. */
static void collect_new(HashTable *into, HashTable *table, uint32_t before)
{
	uint32_t count = zend_hash_num_elements(table) - before, i = table->nNumUsed;

	zend_hash_init(into, count + 1, NULL, NULL, 0);
	while (count > 0 && i-- > 0) {
		Bucket *bucket = &table->arData[i];

		if (Z_TYPE(bucket->val) == IS_PTR) {
			zend_hash_add_ptr(into, bucket->key, Z_PTR(bucket->val));
		}
		count -= Z_TYPE(bucket->val) != IS_UNDEF;
	}
}

/*
 * The optimizer wants code that has not run, all of one file together: a class that inherits from another class of its
 * file has copies of that one's methods, which the optimizer updates. It leaves the code outside of functions as it
 * is, for that is eval()'s.
 */
static zend_op_array *compile_optimized(zend_string *code, const char *name)
{
	uint32_t functions = zend_hash_num_elements(CG(function_table)), classes = zend_hash_num_elements(CG(class_table));
	zend_op_array *main = zend_compile_string(code, name, ZEND_COMPILE_POSITION_AFTER_OPEN_TAG);
	zend_script script = {0};

	if (!main || !level) {
		return main;
	}
	script.filename = main->filename;
	script.main_op_array = *main;
	collect_new(&script.function_table, CG(function_table), functions);
	collect_new(&script.class_table, CG(class_table), classes);
	zend_optimize_script(&script, level, 0);
	*main = script.main_op_array;
	zend_hash_destroy(&script.function_table);
	zend_hash_destroy(&script.class_table);
	return main;
}

/* The library is UTF-8 and PHP, whatever the encoding of the app's files and whichever code caused the compilation. */
static zend_op_array *compile(zend_string *code, const char *name)
{
	uint32_t options = CG(compiler_options);
	bool multibyte = CG(multibyte), interns = last_slot - next_slot >= SLOTS_OF_A_FILE;
	size_t slots = CG(map_ptr_last);
	zend_op_array *volatile main = NULL;
	volatile bool failed = false;

	of_requests = zend_new_interned_string;
	if (interns) {
		zend_new_interned_string = intern;
		CG(map_ptr_last) = next_slot;
	}
	CG(multibyte) = false;
	CG(compiler_options) = ZEND_COMPILE_DEFAULT_FOR_EVAL;
	zend_try {
		main = compile_optimized(code, name);
	} zend_catch {
		failed = true;
	} zend_end_try();
	CG(compiler_options) = options;
	CG(multibyte) = multibyte;
	zend_new_interned_string = of_requests;
	if (interns) {
		next_slot = CG(map_ptr_last);
		CG(map_ptr_last) = slots;
	}
	if (failed) {
		zend_bailout();
	}
	return main;
}

/* ---- loading ---- */

static const hearth_source *files;
static size_t file_count;
static bool *loaded;
/* The number of the file that declares a class, by the class's name in lower case. */
static HashTable places;

/* Runs the file's main code, which declares classes with a parent; others are declared already. It has no variables. */
static void run(zend_op_array *main)
{
	zend_execute_data *frame = zend_vm_stack_push_call_frame(ZEND_CALL_TOP_CODE | ZEND_CALL_HAS_SYMBOL_TABLE,
		(zend_function *) main, 0, NULL);
	HashTable variables;
	zval unused;

	ZVAL_UNDEF(&unused);
	zend_hash_init(&variables, 0, NULL, ZVAL_PTR_DTOR, 0);
	frame->symbol_table = &variables;
	frame->prev_execute_data = EG(current_execute_data);
	zend_init_code_execute_data(frame, main, &unused);
	/* As in zend_execute(): Xdebug 3.4 observes calls, beginning with the first. */
	ZEND_OBSERVER_FCALL_BEGIN(frame);
	zend_execute_ex(frame);
	zend_vm_stack_free_call_frame(frame);
	zend_hash_destroy(&variables);
	zval_ptr_dtor(&unused);
	/* Running out of memory throws `exit()` where it is noticed, maybe here: the code that named the class must end. */
	hearth_exception_pass_on();
}

static void run_and_free(zend_op_array *main)
{
	run(main);
	zend_destroy_static_vars(main);
	destroy_op_array(main);
	efree_size(main, sizeof *main);
}

/*
 * Debuggers and profilers begin with the first code of a request, unless a fiber runs it. The script runs on a stack of its
 * own, which looks like a fiber to them: with such extensions, an empty statement of its file runs before.
 */
void hearth_begin_observers(const char *script)
{
	if (zend_execute_ex == execute_ex && !ZEND_OBSERVER_ENABLED) {
		return;
	}
	zend_try {
		zend_string *code = zend_string_init(ZEND_STRL(";"), 0);
		zend_op_array *main = zend_compile_string(code, script, ZEND_COMPILE_POSITION_AFTER_OPEN_TAG);

		zend_string_release(code);
		if (main) {
			run_and_free(main);
		}
	} zend_end_try();
}

static void load(size_t number)
{
	const hearth_source *file = &files[number];
	zend_op_array *main;
	zend_string *code;
	char name[256];

	if (loaded[number]) {
		return;
	}
	loaded[number] = true;
	/* The code starts behind the opening tag. */
	code = zend_string_init(file->source.ptr + 5, file->source.len - 5, 0);
	slprintf(name, sizeof name, "hearth:%.*s", (int) file->name.len, file->name.ptr);
	main = compile(code, name);
	zend_string_release(code);
	if (main) {
		run_and_free(main);
	}
	if (!hearth_response_ce) {
		hearth_response_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("hearth\\response"));
	}
	if (!hearth_pool_entry_ce) {
		hearth_pool_entry_prepare();
	}
}

/* Returns the length of the folder's name in the file's path; 0 for a file in no folder. */
static size_t folder(const hearth_source *file)
{
	const char *slash = memchr(file->name.ptr, '/', file->name.len);

	return slash ? (size_t) (slash - file->name.ptr) : 0;
}

/*
 * An app that uses pools while it boots will use them in requests: then all files of the pool are compiled, once for all
 * workers, which share the memory of the process that they were forked from.
 */
static void load_pools(void)
{
	for (size_t i = 0; i < file_count; i++) {
		if (folder(&files[i]) == 4 && memcmp(files[i].name.ptr, "Pool", 4) == 0) {
			load(i);
		}
	}
}

/* Loads the class of this name in lower case, if it is one of the library's that was not asked for before. */
zend_class_entry *hearth_prelude_autoload(zend_string *lower)
{
	zval *place = places.nNumOfElements ? zend_hash_find(&places, lower) : NULL;

	if (!place || loaded[Z_LVAL_P(place)] || (!hearth_has_apcu() && zend_string_equals_literal(lower, "apcuiterator"))) {
		return NULL;
	}
	load((size_t) Z_LVAL_P(place));
	if (hearth_booting && !EG(exception) && zend_string_starts_with_literal(lower, "hearth\\pool\\")) {
		load_pools();
	}
	return zend_hash_find_ptr(EG(class_table), lower);
}

/* Returns a class of the library by its name, loaded if need be. NULL where the engine cannot load one now. */
zend_class_entry *hearth_prelude_class(const char *name)
{
	zend_string *string = zend_string_init(name, strlen(name), 0);
	zend_class_entry *ce = zend_lookup_class(string);

	zend_string_release(string);
	return ce;
}

static zend_function *find_method(const char *class, const char *name)
{
	zend_class_entry *ce = hearth_prelude_class(class);
	zend_function *method = ce ? zend_hash_str_find_ptr_lc(&ce->function_table, name, strlen(name)) : NULL;

	if (!method && !EG(exception)) {
		zend_throw_error(NULL, "%s::%s() cannot be called here", class, name);
	}
	return method;
}

/* Calls a static method of the library; `*method` caches it from the first call on. */
void hearth_prelude_call(zend_function **method, const char *class, const char *name, uint32_t argc, zval *args, zval *result)
{
	if (UNEXPECTED(!*method)) {
		*method = find_method(class, name);
	}
	if (EXPECTED(*method)) {
		zend_call_known_function(*method, NULL, (*method)->common.scope, result, argc, args, NULL);
		hearth_interrupt_library_left();
	}
}

/* Sets the files of the library, which must stay in memory. */
void hearth_prelude_register(const hearth_source *sources, size_t count)
{
	files = sources;
	file_count = count;
	loaded = pecalloc(count, sizeof *loaded, 1);
	zend_hash_init(&places, 128, NULL, NULL, 1);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sources[i].class_count; j++) {
			zval number;

			ZVAL_LONG(&number, (zend_long) i);
			zend_hash_str_update(&places, sources[i].classes[j].ptr, sources[i].classes[j].len, &number);
		}
	}
}

/* Called at the start of the one request that lasts as long as the process. */
void hearth_prelude_begin(void)
{
	level = level_of_opcache();
	set_slots_aside();
}

/* ---- classic mode ---- */

static zend_class_entry *(*autoload)(zend_string *, zend_string *);

static zend_class_entry *on_autoload(zend_string *name, zend_string *lower)
{
	zend_class_entry *ce = hearth_prelude_autoload(lower);

	return ce || EG(exception) ? ce : autoload(name, lower);
}

/* Called once: classes of the library are found in each request, before the app's autoloaders are asked. */
void hearth_prelude_in_requests(void)
{
	autoload = zend_autoload;
	zend_autoload = on_autoload;
}

/* Classes end with their request, so each request loads the library anew. */
void hearth_prelude_forget(void)
{
	memset(loaded, 0, file_count * sizeof *loaded);
}
