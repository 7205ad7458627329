<?php

// Objects of internal classes: of the class itself, and of a subclass whose every method reports to Wait.

declare(strict_types=1);

final class Objects
{
    /** Classes that no constructor makes, or only with arguments that fit together. */
    private static function made(string $class): ?object
    {
        $document = static function (): DOMDocument {
            $document = new DOMDocument();
            $document->loadXML('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "x">]><a b="c"><d>text</d><!-- e --><f/></a>');
            return $document;
        };
        return match (strtolower($class)) {
            'closure' => static function (...$arguments) { Wait::here(); return $arguments[0] ?? 1; },
            'generator' => steps(),
            'domdocument' => $document(),
            'domelement', 'domnode' => $document()->documentElement,
            'domattr' => $document()->documentElement->attributes->item(0),
            'domnodelist' => $document()->getElementsByTagName('*'),
            'domnamednodemap' => $document()->documentElement->attributes,
            'domxpath' => new DOMXPath($document()),
            'simplexmlelement' => new SimpleXMLElement('<a b="c"><d>1</d><d>2</d></a>'),
            'simplexmliterator' => new SimpleXMLIterator('<a b="c"><d>1</d><d>2</d></a>'),
            'xmlreader' => XMLReader::XML('<a b="c"><d>1</d><d>2</d></a>'),
            'xmlwriter' => self::with(new XMLWriter(), static fn ($writer) => $writer->openMemory()),
            'xsltprocessor' => new XSLTProcessor(),
            'xmlparser' => xml_parser_create(),
            'pdo' => new PDO('sqlite::memory:'),
            'pdostatement' => (new PDO('sqlite::memory:'))->query('SELECT 1 AS a, 2 AS b UNION SELECT 3, 4'),
            'sqlite3' => new SQLite3(':memory:'),
            'sqlite3stmt' => (new SQLite3(':memory:'))->prepare('SELECT 1 WHERE 1 = ?'),
            'sqlite3result' => (new SQLite3(':memory:'))->query('SELECT 1 UNION SELECT 2'),
            'mysqli' => mysqli_init(),
            'collator' => new Collator('en'),
            'numberformatter' => new NumberFormatter('en', NumberFormatter::DECIMAL),
            'intldateformatter' => new IntlDateFormatter('en', 0, 0, 'UTC'),
            'messageformatter' => new MessageFormatter('en', '{0} {1}'),
            'transliterator' => Transliterator::create('Any-Latin'),
            'resourcebundle' => ResourceBundle::create('en', null),
            'intlcalendar', 'intlgregoriancalendar' => IntlCalendar::createInstance('UTC', 'en'),
            'intltimezone' => IntlTimeZone::createTimeZone('UTC'),
            'intlbreakiterator' => self::with(IntlBreakIterator::createWordInstance('en'), static fn ($iterator) => $iterator->setText('one two')),
            'intliterator' => IntlTimeZone::createEnumeration(),
            'hashcontext' => hash_init('md5'),
            'inflatecontext' => inflate_init(ZLIB_ENCODING_RAW),
            'deflatecontext' => deflate_init(ZLIB_ENCODING_RAW),
            'curlhandle' => curl_init('http://127.0.0.1:9/'),
            'curlmultihandle' => curl_multi_init(),
            'curlsharehandle' => curl_share_init(),
            'curlfile' => new CURLFile('a.txt'),
            'gdimage' => imagecreatetruecolor(4, 4),
            'finfo' => new finfo(FILEINFO_MIME),
            'shmop' => shmop_open(getmypid(), 'c', 0600, 100),
            'sysvsharedmemory' => shm_attach(getmypid()),
            'sysvmessagequeue' => msg_get_queue(getmypid()),
            'sysvsemaphore' => sem_get(getmypid()),
            'socket' => socket_create(AF_INET, SOCK_DGRAM, 0),
            'opensslasymmetrickey' => self::$key ??= openssl_pkey_new(['private_key_bits' => 1024]),
            'phardata' => self::with(new PharData(tempnam('.', 'phar') . '.tar'), static fn ($archive) => $archive->addFromString('a', 'b')),
            'dateperiod' => new DatePeriod(new DateTime('2020-01-01'), new DateInterval('P1D'), 3),
            'dateinterval' => new DateInterval('P1D'),
            'datetimeinterface' => new DateTime('2020-01-01'),
            'directory' => dir('.'),
            'splfileobject' => new SplFileObject('a.txt', 'r+'),
            'spltempfileobject' => self::with(new SplTempFileObject(), static fn ($file) => $file->fwrite("a,b\nc,d\n")),
            'directoryiterator', 'filesystemiterator', 'recursivedirectoryiterator', 'splfileinfo' => new $class('.'),
            'reflectionclass', 'reflectionobject' => new $class(new Magic()),
            'reflectionmethod' => new ReflectionMethod('Magic', 'offsetGet'),
            'reflectionproperty' => new ReflectionProperty('Magic', 'kept'),
            'reflectionparameter' => new ReflectionParameter(['Magic', 'offsetGet'], 0),
            'reflectionfunction' => new ReflectionFunction(static fn ($one = 1) => Wait::here() ?? 1),
            'reflectionnamedtype', 'reflectiontype' => (new ReflectionMethod('Magic', 'offsetExists'))->getReturnType(),
            'reflectiongenerator' => new ReflectionGenerator(steps()),
            'reflectionextension' => new ReflectionExtension('json'),
            'reflectionclassconstant' => new ReflectionClassConstant('ArrayObject', 'ARRAY_AS_PROPS'),
            'iterator', 'outeriterator' => new Steps(),
            'traversable', 'arrayaccess', 'countable', 'jsonserializable', 'stringable', 'iteratoraggregate' => new Magic(),
            'recursiveiterator', 'recursivearrayiterator' => new RecursiveArrayIterator(['a' => 1, 'b' => [2, 3]]),
            'recursiveiteratoriterator' => new RecursiveIteratorIterator(new RecursiveArrayIterator(['a' => 1, 'b' => [2, 3]])),
            'recursivecallbackfilteriterator' => new RecursiveCallbackFilterIterator(new RecursiveArrayIterator([1, [2]]), static fn () => Wait::here() ?? true),
            'callbackfilteriterator' => new CallbackFilterIterator(new Steps(), static fn () => Wait::here() ?? true),
            'regexiterator' => new RegexIterator(new Steps(), '/./'),
            'limititerator' => new LimitIterator(new Steps(), 0, 2),
            'appenditerator' => self::with(new AppendIterator(), static fn ($all) => $all->append(new Steps())),
            'multipleiterator' => self::with(new MultipleIterator(), static fn ($all) => $all->attachIterator(new Steps())),
            'weakreference' => WeakReference::create(self::$held = new Magic()),
            'weakmap' => self::with(new WeakMap(), static fn ($map) => $map[self::$held = new Magic()] = new Magic()),
            'throwable' => new Exception('text'),
            'unitenum', 'backedenum' => null,
            default => null,
        };
    }

    private static ?object $held = null;
    private static ?object $key = null;

    private static function with(object $object, Closure $change): object
    {
        $change($object);
        return $object;
    }

    public static function of(string $class, int $depth = 0): object
    {
        $object = self::made($class) ?? self::constructed($class, $depth);
        self::fill($object);
        return $object;
    }

    private static function constructed(string $class, int $depth): object
    {
        $reflection = new ReflectionClass($class);
        if (!$reflection->isInstantiable() || $depth > 3) {
            throw new LogicException("no $class");
        }
        $arguments = [];
        foreach ($reflection->getConstructor()?->getParameters() ?? [] as $parameter) {
            if ($parameter->isOptional()) {
                break;
            }
            $arguments[] = Values::usual($parameter, $depth + 1);
        }
        return $reflection->newInstanceArgs($arguments);
    }

    /** An object of a subclass: with the content of the class, and PHP code in each method. */
    public static function waiting(string $class): object
    {
        $reflection = new ReflectionClass(self::subclass($class));
        $arguments = [];
        foreach ((new ReflectionClass($class))->getConstructor()?->getParameters() ?? [] as $parameter) {
            if ($parameter->isOptional()) {
                break;
            }
            $arguments[] = Values::usual($parameter, 1);
        }
        $object = $reflection->newInstanceArgs($arguments);
        self::fill($object);
        return $object;
    }

    /** Elements that run PHP code. */
    private static function fill(object $object): void
    {
        $pieces = [new Magic(), Values::piece('1'), [Values::piece('x'), new Node(Values::piece('1'))], str_repeat('f', 40)];
        foreach ($pieces as $n => $piece) {
            try {
                match (true) {
                    $object instanceof SplObjectStorage => $object[is_object($piece) ? $piece : new Node()] = $piece,
                    $object instanceof SplFixedArray => $object->setSize($n + 1) && $object[$n] = $piece,
                    $object instanceof SplDoublyLinkedList => $object->push($piece),
                    $object instanceof SplHeap => $object->insert($piece),
                    $object instanceof SplPriorityQueue => $object->insert($piece, new Text((string) $n)),
                    $object instanceof ArrayObject, $object instanceof ArrayIterator => $object["k$n"] = $piece,
                    default => null,
                };
            } catch (Throwable) {
            }
        }
    }

    private static function subclass(string $class): string
    {
        $name = 'Waiting_' . strtr($class, '\\', '_');
        if (class_exists($name, false)) {
            return $name;
        }
        $reflection = new ReflectionClass($class);
        if ($reflection->isFinal() || $reflection->isInterface() || $reflection->isAbstract() || $reflection->isEnum()) {
            throw new LogicException("no subclass of $class");
        }
        $methods = '';
        foreach ($reflection->getMethods(ReflectionMethod::IS_PUBLIC | ReflectionMethod::IS_PROTECTED) as $method) {
            if (!$method->isFinal() && !$method->isStatic() && !$method->isConstructor() && !$method->isDestructor() && !$method->isAbstract()) {
                $methods .= self::method($method);
            }
        }
        eval("#[AllowDynamicProperties] class $name extends \\$class { public \$kept = 'kept'; public \$more = []; $methods }");
        return $name;
    }

    private static function method(ReflectionMethod $method): string
    {
        $parameters = [];
        foreach ($method->getParameters() as $parameter) {
            $parameters[] = ($parameter->isPassedByReference() ? '&' : '') . ($parameter->isVariadic() ? '...' : '')
                . '$' . $parameter->getName() . ($parameter->isOptional() && !$parameter->isVariadic() ? ' = ' . self::standard($parameter) : '');
        }
        $type = $method->getReturnType();
        $visible = $method->isProtected() ? 'protected' : 'public';
        $returns = in_array((string) $type, ['void', 'never'], true) ? '' : 'return ';
        return "#[ReturnTypeWillChange] $visible function {$method->getName()}(" . implode(', ', $parameters) . ')' . ($type ? ": $type" : '')
            . " { Wait::here(); {$returns}parent::{$method->getName()}(...func_get_args()); }\n";
    }

    private static function standard(ReflectionParameter $parameter): string
    {
        return $parameter->isDefaultValueAvailable() ? var_export($parameter->getDefaultValue(), true) : 'null';
    }
}
