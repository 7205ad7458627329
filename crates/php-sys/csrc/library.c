/*
 * Our own PHP library: compiled from the program, for which opcache, which knows files, does nothing. So it is given here
 * what opcache gives to files: strings that are known by their address, and the optimizer. Per database query of a pool
 * that is a tenth of the instructions.
 */
#include "task.h"

/* ---- strings ---- */

/*
 * With opcache, the compiler makes no interned strings: opcache makes them when it stores a script, and eval's are never
 * stored. Then class names have no cache of their class either, and each write to a property of class type looks it up by
 * name. So while the library is compiled, a string that opcache does not have is interned by the engine's own function,
 * as it is without opcache: for the request, which for us is the life of the process or of `hearth run`.
 *
 * It relies on (8.2, 8.4):
 * - Until opcache starts, after the modules, the engine's function is the one for requests.
 * - CG(interned_strings) is set up at the start and freed at the end of every request, opcache or not.
 * - The cache of a class is a slot behind CG(map_ptr_last), the number of which scripts in opcache's memory use too. Whoever
 *   stores one takes numbers from the larger of its own and the shared count, so in the zygote and its copies, all that
 *   share that memory, those of the library are not given to another. No request starts after the library is loaded,
 *   which could count from the beginning again; in classic mode, where that happens, there is no library.
 * - opcache tells its own strings by their address, not by a flag, and keeps no class of which a parent is not its own.
 */
static zend_new_interned_string_func_t of_engine, of_requests;

/* At the start of modules. */
void hearth_library_prepare(void)
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

/* ---- optimizer ---- */

static zend_op_array *(*compile)(HEARTH_COMPILE_STRING_ARGS);
static zend_long level;

/* As for the app's files; `hearth run` is over before it pays. */
static zend_long level_of_opcache(void)
{
	bool used = !hearth_is_cli() && zend_hash_str_exists(EG(ini_directives), ZEND_STRL("opcache.enable"))
		&& INI_BOOL("opcache.enable");

	return used ? INI_INT("opcache.optimization_level") : 0;
}

/* What was added to a table of the compiler since it had so many elements; nothing is taken out meanwhile. */
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
 * The optimizer wants code that has not run, all of one file together: a class that inherits from another of its file has
 * copies of its methods, which it brings up to date. The code outside of functions it leaves as it is, for that is eval's.
 */
static zend_op_array *compile_optimized(HEARTH_COMPILE_STRING_ARGS)
{
	uint32_t functions = zend_hash_num_elements(CG(function_table)), classes = zend_hash_num_elements(CG(class_table));
	zend_op_array *main = compile(source, filename, position);
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

/* ---- loading ---- */

static void set_up(void)
{
	of_requests = zend_new_interned_string;
	zend_new_interned_string = intern;
	level = level_of_opcache();
	compile = zend_compile_string;
	zend_compile_string = compile_optimized;
}

static void tear_down(void)
{
	zend_new_interned_string = of_requests;
	zend_compile_string = compile;
}

/* Compile and run it, file by file. */
hearth_outcome hearth_load_library(const hearth_source *files, size_t count)
{
	volatile hearth_outcome outcome = HEARTH_OK;

	set_up();
	zend_try {
		for (size_t i = 0; i < count && outcome == HEARTH_OK; i++) {
			/* eval starts behind the opening tag. */
			const char *code = files[i].source.ptr + 5;
			char name[256];

			slprintf(name, sizeof name, "hearth:%.*s", (int) files[i].name.len, files[i].name.ptr);
			zend_eval_stringl(code, files[i].source.len - 5, NULL, name);
			outcome = hearth_outcome_of_exception();
		}
		hearth_pool_entry_prepare();
	} zend_catch {
		outcome = HEARTH_BAILOUT;
	} zend_end_try();
	tear_down();
	hearth_response_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("hearth\\response"));
	return outcome;
}
