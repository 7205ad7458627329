/*
 * Every difference between PHP versions, in one place: the rest of the C code has no PHP_VERSION_ID in it.
 */
#ifndef HEARTH_COMPAT_H
#define HEARTH_COMPAT_H

/* Engine headers are not written for -Wextra. */
#pragma GCC system_header

#include <main/php.h>
#include <main/SAPI.h>
#include <main/php_main.h>
#include <main/php_ini.h>
#include <main/php_network.h>
#include <main/php_output.h>
#include <main/php_ticks.h>
#include <main/php_variables.h>
#include <main/rfc1867.h>
#include <main/php_content_types.h>
#include <Zend/zend_closures.h>
#include <Zend/zend_enum.h>
#include <Zend/zend_exceptions.h>
#include <Zend/zend_extensions.h>
#include <Zend/zend_fibers.h>
#include <Zend/zend_generators.h>
#include <Zend/zend_interfaces.h>
#include <Zend/zend_observer.h>
#include <Zend/zend_smart_str.h>
#include <Zend/zend_signal.h>
#include <Zend/zend_weakrefs.h>
#include <Zend/Optimizer/zend_optimizer.h>
#include <ext/standard/basic_functions.h>
#include <ext/standard/head.h>
#include <ext/standard/html.h>
#include <ext/standard/info.h>
#include <ext/date/php_date.h>
/* As Debian builds ext/mbstring, whose own configuration its header does not know. */
#define HAVE_MBREGEX 1
#include <ext/mbstring/mbstring.h>
#include <ext/mysqli/php_mysqli_structs.h>
#include <ext/mysqlnd/mysqlnd.h>
#include <ext/mysqlnd/mysqlnd_structs.h>
#include <ext/mysqlnd/mysqlnd_connection.h>
#include <ext/pcre/php_pcre.h>
#include <ext/random/php_random.h>
#include <ext/session/php_session.h>
#include <ext/spl/spl_exceptions.h>

#if PHP_VERSION_ID < 80200
# error "Hearth needs PHP 8.2 or newer: install php8.2-dev and libphp8.2-embed (Debian 12) or php8.4-dev and libphp8.4-embed (Debian 13)"
#endif
#ifdef ZTS
# error "This PHP is thread-safe (ZTS); Hearth needs the ordinary build (NTS), as Debian ships it: point PHP_CONFIG at that php-config"
#endif
#if ZEND_DEBUG
# error "This PHP is a debug build; its structures differ from those of the libphp that users run: point PHP_CONFIG at a release build"
#endif

/* The beginning of the engine's private description of a stack, the same in all releases. */
typedef struct { void *pointer; size_t size; } hearth_stack_bounds;
#define HEARTH_STACK_BOUNDS(context) ((const hearth_stack_bounds *) (context)->stack)

/* 8.3 checks the C stack against the limits of the running fiber; the contexts of tasks must set them. */
#if defined(ZEND_CHECK_STACK_LIMIT)
# define HEARTH_SET_STACK_LIMITS(context, lowest) do { \
		EG(stack_base) = zend_fiber_stack_base((context)->stack); \
		EG(stack_limit) = (char *) (lowest) + EG(reserved_stack_size); \
	} while (0)
#else
# define HEARTH_SET_STACK_LIMITS(context, lowest) ((void) (context), (void) (lowest))
#endif

/* True on success: 8.2 and 8.3 return a bool, 8.4 a zend_result, for which success is 0. */
#if PHP_VERSION_ID >= 80400
# define HEARTH_FIBER_INIT(context, kind, function, size) (zend_fiber_init_context(context, kind, function, size) == SUCCESS)
#else
# define HEARTH_FIBER_INIT(context, kind, function, size) zend_fiber_init_context(context, kind, function, size)
#endif

/* The guard of an object's properties; from 8.4 on it also has the object's marks against recursion. */
#if defined(ZEND_GUARD_PROPERTY_MASK)
# define HEARTH_GUARD_P(place) Z_GUARD_P(place)
# define HEARTH_GUARD_PROPERTY_MASK ZEND_GUARD_PROPERTY_MASK
# define HEARTH_GUARD_RECURSION_MASK (ZEND_GUARD_RECURSION_DEBUG | ZEND_GUARD_RECURSION_EXPORT | ZEND_GUARD_RECURSION_JSON)
#else
# define HEARTH_GUARD_P(place) Z_PROPERTY_GUARD_P(place)
# define HEARTH_GUARD_PROPERTY_MASK 0xfu
# define HEARTH_GUARD_RECURSION_MASK 0u
#endif

/*
 * The marks of a class constant: that its value is being computed, which no header names; from 8.3 on, that its attributes are being
 * looked at.
 */
#if defined(CONST_RECURSIVE)
# define HEARTH_CONSTANT_MARKS (0x80u | CONST_RECURSIVE)
#else
# define HEARTH_CONSTANT_MARKS 0x80u
#endif

/* The table of lazy objects, by their numbers, whether one is lazy now, or one of its properties. There are none before 8.4, nor hooks. */
#if PHP_VERSION_ID >= 80400
# define HEARTH_LAZY_OBJECTS() (&EG(lazy_objects_store).infos)
# define HEARTH_IS_LAZY(object) ((OBJ_EXTRA_FLAGS(object) & (IS_OBJ_LAZY_UNINITIALIZED | IS_OBJ_LAZY_PROXY)) != 0)
# define HEARTH_IS_LAZY_PROPERTY(slot) ((Z_PROP_FLAG_P(slot) & IS_PROP_LAZY) != 0)
# define HEARTH_HAS_PROPERTY_HOOKS(ce) ((ce)->num_hooked_props != 0)
# define HEARTH_IS_PROPERTY_HOOK(function) ((function)->common.prop_info != NULL)
#else
# define HEARTH_LAZY_OBJECTS() ((HashTable *) NULL)
# define HEARTH_IS_LAZY(object) ((void) (object), true)
# define HEARTH_IS_LAZY_PROPERTY(slot) ((void) (slot), false)
# define HEARTH_HAS_PROPERTY_HOOKS(ce) ((void) (ce), false)
# define HEARTH_IS_PROPERTY_HOOK(function) ((void) (function), false)
#endif

/* Whether a SoapClient that is freed leaves its connection open. */
#define HEARTH_SOAP_LEAVES_CONNECTIONS (PHP_VERSION_ID < 80400)

/* The functions of session_set_save_handler(): 8.2 has a union with an array for them, 8.4 the fields alone. */
#define HEARTH_SAVE_HANDLERS(session) ((zval *) &(session).mod_user_names)
#define HEARTH_SAVE_HANDLER_COUNT (sizeof ((php_ps_globals *) NULL)->mod_user_names / sizeof(zval))

/* The engine seeds its generators at the next use. */
#define HEARTH_RESEED_RANDOM() do { \
		RANDOM_G(mt19937_seeded) = false; \
		RANDOM_G(combined_lcg_seeded) = false; \
	} while (0)

/*
 * In Debian's 8.2.36, code that ran out of memory unwinds after the error is reported, where other releases jump out of it.
 * Until the request ends no code runs any more, and only this state tells. False and no-op in other releases.
 */
#if defined(ZEND_HAS_OOM)
# define HEARTH_IS_OUT_OF_MEMORY() ZEND_HAS_OOM()
# define HEARTH_FORGET_OUT_OF_MEMORY() (EG(delayed_oom).lineno = 0, EG(delayed_oom).state = ZEND_OOM_STATE_NONE)
#else
# define HEARTH_IS_OUT_OF_MEMORY() false
# define HEARTH_FORGET_OUT_OF_MEMORY() ((void) 0)
#endif

/*
 * Up to 8.3, zend_activate() clears the slots of internal functions with all others; from 8.4 on those slots are kept apart.
 * HEARTH_CLEARED_SLOTS: the slots that it clears.
 */
#define HEARTH_CLEARS_FUNCTION_SLOTS (PHP_VERSION_ID < 80400)
#define HEARTH_CLEARED_SLOTS ((void **) CG(map_ptr_real_base))

/* Places in structures that no header describes, and fields that only newer versions have; see state/modules.toml. */
#define HEARTH_PLACE(offset, size) offset, size
/* Whether those places are known for this version. */
#define HEARTH_PLACES_ARE_KNOWN (PHP_VERSION_ID / 100 == 802 || PHP_VERSION_ID / 100 == 804)
#if PHP_VERSION_ID >= 80400
# define HEARTH_BY_VERSION(before_8_4, since_8_4) since_8_4
# define HEARTH_SINCE_8_4(...) __VA_ARGS__
#else
# define HEARTH_BY_VERSION(before_8_4, since_8_4) before_8_4
# define HEARTH_SINCE_8_4(...)
#endif

/* The globals of libxml; the extension's header needs libxml2's headers. */
typedef struct {
	zval stream_context;
	smart_str error_buffer;
	zend_llist *error_list;
#if PHP_VERSION_ID >= 80400
	zend_fcall_info_cache loader;
# define HEARTH_LIBXML_LOADER loader.function_handler
#else
	struct { zval callback; zend_fcall_info fci; zend_fcall_info_cache fcc; } loader;
/* libxml_set_external_entity_loader(null) keeps the other fields as they were. */
# define HEARTH_LIBXML_LOADER loader.fci.function_name.u1.type_info
#endif
	bool loader_disabled;
} hearth_libxml_globals;

/* The response headers of the last HTTP request (http_get_last_response_headers(), since 8.4). */
#if PHP_VERSION_ID >= 80400
# define HEARTH_LAST_HTTP_HEADERS() (&BG(last_http_headers))
#else
# define HEARTH_LAST_HTTP_HEADERS() ((zval *) NULL)
#endif

/*
 * Since 8.4, an open_basedir set by code is kept resolved, in memory of the engine's heap; a relative path keeps its meaning
 * of that time. HEARTH_TAKE_OPEN_BASEDIR leaves the setting as if code had not set it.
 */
#if PHP_VERSION_ID >= 80400
# define HEARTH_TAKE_OPEN_BASEDIR() (PG(open_basedir_modified) ? (PG(open_basedir_modified) = false, PG(open_basedir)) : NULL)
# define HEARTH_PUT_OPEN_BASEDIR(resolved) (PG(open_basedir) = (resolved), PG(open_basedir_modified) = true)
#else
# define HEARTH_TAKE_OPEN_BASEDIR() NULL
# define HEARTH_PUT_OPEN_BASEDIR(resolved) ((void) (resolved))
#endif

/* mb_output_handler(): the last of its fields, and the converter that 8.2 keeps between two calls. */
#if PHP_VERSION_ID < 80300
# define HEARTH_MBSTRING_OUTPUT(globals) ((globals)->outconv)
# define HEARTH_MBSTRING_CONVERTER(globals) ((void *) (globals)->outconv)
#else
# define HEARTH_MBSTRING_OUTPUT(globals) ((globals)->outconv_state)
# define HEARTH_MBSTRING_CONVERTER(globals) NULL
#endif

/* The highest signal that pcntl_signal_get_handler() knows. */
#define HEARTH_LAST_READABLE_SIGNAL HEARTH_BY_VERSION(32, NSIG - 1)

/* The state of mt_rand() and lcg_value(). */
#define HEARTH_MT_STATE HEARTH_BY_VERSION(RANDOM_G(mt19937)->state, &RANDOM_G(mt19937))
#define HEARTH_LCG_STATE HEARTH_BY_VERSION(RANDOM_G(combined_lcg)->state, RANDOM_G(combined_lcg))
#define HEARTH_LCG_SIZE HEARTH_BY_VERSION(sizeof(php_random_status_state_combinedlcg), sizeof RANDOM_G(combined_lcg))

/* The parameters of zend_compile_string, the same since 8.2. */
#define HEARTH_COMPILE_STRING_ARGS zend_string *source, const char *filename, zend_compile_position position

/*
 * Since 8.4, some internal functions are also called without a frame: one opline is the call. In a namespace both forms are
 * compiled, the frameless one behind the other, with a jump over each.
 */
#if PHP_VERSION_ID < 80400
# define HEARTH_IS_FRAMELESS_CALL(opcode) ((void) (opcode), false)
# define HEARTH_IS_FRAMELESS_JUMP(opcode) ((void) (opcode), false)
# define HEARTH_FRAMELESS_NAME(line) ((void) (line), "?")
#else
# define HEARTH_IS_FRAMELESS_CALL(opcode) ZEND_OP_IS_FRAMELESS_ICALL(opcode)
# define HEARTH_IS_FRAMELESS_JUMP(opcode) ((opcode) == ZEND_JMP_FRAMELESS)
# define HEARTH_FRAMELESS_NAME(line) ZSTR_VAL(ZEND_FLF_FUNC(line)->common.function_name)
#endif

/* Whether the opcode is exit(). Since 8.4 exit() is a function, and the opcode is a call. */
static inline bool hearth_is_exit(uint8_t opcode)
{
#if PHP_VERSION_ID < 80400
	return opcode == ZEND_EXIT;
#else
	(void) opcode;
	return false;
#endif
}

#endif
