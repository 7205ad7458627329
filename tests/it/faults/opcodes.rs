//! Opcodes that call PHP code which the script does not name, and that code waits: where they hold a place in a variable that requests share,
//! no other request runs meanwhile.

use super::engine_calls::{answers, assert_answers};
use crate::support::one_worker;

const PLACES: &str = r#"
class Slow { function __toString() { usleep(20000); return 'slow'; } }
class Shared { static $text; static $list; static $object; static string $typed = ''; }
class Slowly implements IteratorAggregate, Countable {
    private string $kept = 'kept';
    function getIterator(): Iterator { usleep(20000); return new ArrayIterator([$this->kept]); }
    function count(): int { usleep(20000); return strlen($this->kept); }
    function __clone() { usleep(20000); $this->kept .= '!'; }
    function __toString(): string { usleep(20000); return $this->kept; }
}
function takes(string &$text) { return $text; }
function takesAll(string &...$texts) { return $texts[0]; }
function &gives(): string { return Shared::$object; }
function yields() { global $object; yield from $object; }
return function (Hearth\Request $request): string {
    set_error_handler(function () { usleep(20000); return true; });
    Shared::$object ??= new stdClass;
    switch ($request->path) {
        case '/text': Shared::$text = str_repeat('a', 100); return strlen(Shared::$text .= new Slow);
        case '/element': Shared::$list = ['k' => 1]; return Shared::$list['k'] += '5 apples';
        case '/property': Shared::$object->p = str_repeat('a', 100); return strlen(Shared::$object->p .= new Slow);
        case '/typed': return Shared::$typed = new Slow;
        case '/global': global $text; $text = str_repeat('a', 100); $text .= new Slow; return strlen($text);
        case '/count': static $count; $count = [1]; $count[0] += '5 apples'; return $count[0];
        case '/operand': global $text; $text = str_repeat('a', 100); return strlen($text . new Slow);
        case '/compared': global $text; $text = [[1], 'slow']; return var_export($text == [[1], new Slow], true);
        case '/held': $held = Shared::$object; $held->p = str_repeat('a', 100); return strlen($held->p .= new Slow);
        case '/array-object': $held = Shared::$object = new ArrayObject(['k' => 'a']); $held['k'] .= new Slow; return $held['k'];
        case '/process': Shared::$object->process = popen('sleep 0.02', 'r'); return $got = (Shared::$object->process = 'new');
        case '/elements':
            Shared::$list = [popen('sleep 0.02', 'r'), 1, 2];
            array_splice(Shared::$list, 0, 1);
            return implode(Shared::$list);
        case '/iterated': global $object; $object = new Slowly; foreach ($object as $value) { return $value; }
        case '/counted': global $object; $object = new Slowly; return count($object);
        case '/unpacked': global $object; $object = new Slowly; return [...$object][0];
        case '/passed': global $object; $object = new Slowly; return max('a', ...$object);
        case '/yielded': $GLOBALS['object'] = new Slowly; foreach (yields() as $value) { return $value; }
        case '/cloned': global $object; $object = new Slowly; return (string) clone $object;
        case '/cast': global $object; $object = new Slowly; return (string) $object;
        case '/echoed': global $object; $object = new Slowly; ob_start(); echo $object; return ob_get_clean();
        case '/by-reference': Shared::$object = new Slowly; return takes(Shared::$object);
        case '/variadic': Shared::$object = new Slowly; return takesAll(Shared::$object);
        case '/returned': Shared::$object = new Slowly; return gives();
        case '/unset': Shared::$list = [1 => 'a', 2 => 'b']; unset(Shared::$list[1.5]); return 'unset';
        case '/false': Shared::$list = ['a' => false]; Shared::$list['a']['b'] = 'set'; return 'set';
        case '/dynamic': $held = Shared::$object = new Slowly; $held->added = 'a'; $held->added .= 'b'; return $held->added;
        case '/appended': $held = Shared::$object; $held->new['k'] .= 'b'; return $held->new['k'];
        case '/named': Shared::$object->slow = ['k' => 'v']; unset(Shared::$object->{new Slow}); return 'unset';
    }
    if (Shared::$object instanceof ArrayObject) { Shared::$object->exchangeArray(['k' => null]); } elseif (is_object(Shared::$object)) { Shared::$object->p = null; }
    Shared::$text = Shared::$object = Shared::$list = null;
    $GLOBALS['text'] = $GLOBALS['object'] = null;
    for ($n = 0; $n < 50; $n++) { Shared::$list["k$n"] = $own[] = "other $n"; }
    usleep(1000);
    return implode(',', $own) === implode(',', Shared::$list ?? $own) ? 'fine' : 'mixed up';
};"#;

#[test]
fn an_opcode_that_holds_a_place_in_a_shared_variable_is_not_left() {
    for (target, expected) in [
        ("/text", "104"),
        ("/element", "6"),
        ("/property", "104"),
        ("/typed", "slow"),
        ("/global", "104"),
        ("/count", "6"),
        ("/operand", "104"),
        ("/compared", "true"),
        ("/held", "104"),
        ("/array-object", "aslow"),
        ("/process", "new"),
        ("/elements", "12"),
        ("/iterated", "kept"),
        ("/counted", "4"),
        ("/unpacked", "kept"),
        ("/passed", "kept"),
        ("/yielded", "kept"),
        ("/cloned", "kept!"),
        ("/cast", "kept"),
        ("/echoed", "kept"),
        ("/by-reference", "kept"),
        ("/variadic", "kept"),
        ("/returned", "kept"),
        ("/unset", "unset"),
        ("/false", "set"),
        ("/dynamic", "ab"),
        ("/appended", "b"),
        ("/named", "unset"),
    ] {
        let server = one_worker(PLACES);
        assert_answers(
            server,
            &[target, "/clear", "/clear"],
            &[expected, "fine", "fine"],
        );
    }
}

/// Classes whose values are computed at their first use, with a warning for which the handler waits.
const FIRST_USE: &str = r#"
class Settings { const LIST = []; static $first = self::LIST['gone']; static $all = []; }
enum Suit: string { case A = 'a' . Settings::LIST['gone']; case B = 'b'; }
class Kept { static $suit; }
return function (Hearth\Request $request): string {
    set_error_handler(function () { usleep(20000); return true; });
    switch ($request->path) {
        case '/properties': Settings::$all[] = 'written'; return count(Settings::$all);
        case '/from': $suit = Suit::from('a'); Kept::$suit ??= $suit; return Kept::$suit === Suit::from('a') && Kept::$suit === constant('Suit::A') ? 'same' : 'other';
        case '/reflected': (new ReflectionClass('Settings'))->getStaticProperties(); Settings::$all[] = 'written'; return count(Settings::$all);
        case '/cases': $suit = Suit::A; Kept::$suit ??= $suit; return Kept::$suit === Suit::A ? 'same' : 'other';
    }
};"#;

#[test]
fn the_values_of_a_class_are_computed_once() {
    assert_eq!(
        answers(
            &one_worker(FIRST_USE).start(),
            &["/properties", "/properties"]
        ),
        ["1", "2"]
    );
    assert_eq!(
        answers(
            &one_worker(FIRST_USE).start(),
            &["/reflected", "/reflected"]
        ),
        ["1", "2"]
    );
    assert_eq!(
        answers(&one_worker(FIRST_USE).start(), &["/from", "/from", "/from"]),
        ["same", "same", "same"]
    );
    assert_eq!(
        answers(
            &one_worker(FIRST_USE).start(),
            &["/cases", "/cases", "/cases"]
        ),
        ["same", "same", "same"]
    );
}

const LEFT: &str = r#"
class Slow implements IteratorAggregate, Countable, ArrayAccess {
    static bool $waits = false;
    private function wait($value) { self::$waits = true; usleep(30000); self::$waits = false; return $value; }
    function __toString(): string { return $this->wait('text'); }
    function getIterator(): Generator { yield $this->wait('first'); yield $this->wait('second'); }
    function count(): int { return $this->wait(4); }
    function __get($name) { return $this->wait([$name]); }
    function offsetExists($key): bool { return $this->wait(true); }
    function offsetGet($key): mixed { return $this->wait($key); }
    function offsetSet($key, $value): void { $this->wait(null); }
    function offsetUnset($key): void { $this->wait(null); }
}
class WithDefault { public $slow; function __construct() { $this->slow = (string) new Slow; } }
function typed(string $text, WithDefault $default = new WithDefault) { return $text . ' ' . $default->slow; }
return function (Hearth\Request $request): string {
    $slow = new Slow;
    $text = '';
    switch ($request->path) {
        case '/waits': return Slow::$waits ? 'waits' : 'blocks';
        case '/echo': ob_start(); echo $slow; return ob_get_clean();
        case '/cast': return (string) $slow;
        case '/rope': return "a {$slow} b";
        case '/concat': return 'a ' . $slow;
        case '/append': $text .= $slow; return $text;
        case '/append-element': $list = ['k' => 'a ']; $list['k'] .= $slow; return $list['k'];
        case '/compare': return $slow == 'text' ? 'same' : 'other';
        case '/count': return count($slow);
        case '/foreach': foreach ($slow as $value) { $text = $text . $value; } return $text;
        case '/unpack': return implode(' ', [...$slow]);
        case '/get': return $slow->name[0];
        case '/offset': return $slow['key'];
        case '/isset': return isset($slow['key']) ? 'is set' : 'is not set';
        case '/parameter': return typed('a', new WithDefault);
        case '/default': return typed('a');
        case '/implode': return implode(' ', ['a', $slow]);
    }
};"#;

#[test]
fn other_requests_run_while_a_method_that_an_opcode_calls_waits() {
    for (target, expected) in [
        ("/echo", "text"),
        ("/cast", "text"),
        ("/rope", "a text b"),
        ("/concat", "a text"),
        ("/append", "text"),
        ("/append-element", "a text"),
        ("/compare", "same"),
        ("/count", "4"),
        ("/foreach", "firstsecond"),
        ("/unpack", "first second"),
        ("/get", "name"),
        ("/offset", "key"),
        ("/isset", "is set"),
        ("/parameter", "a text"),
        ("/default", "a text"),
        ("/implode", "a text"),
    ] {
        assert_answers(one_worker(LEFT), &[target, "/waits"], &[expected, "waits"]);
    }
}
