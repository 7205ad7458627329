<?php
declare(encoding='ISO-8859-1');
try { eval('this is no PHP'); } catch (ParseError) {} ini_set('zend.multibyte', '1'); set_include_path('.'); @include 'nothing.php'; highlight_file(__FILE__, true); token_get_all('<?php a', TOKEN_PARSE); compile();
function compile(): void { try { eval('class Half extends NotThere {}'); } catch (Error) {} }
