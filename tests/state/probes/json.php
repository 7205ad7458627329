<?php
json_decode('{'); json_last_error(); json_encode(NAN_()); function NAN_() { return "\xff"; } json_last_error_msg(); class J implements JsonSerializable { function jsonSerialize(): mixed { return json_encode(1); } } json_encode(new J); @json_encode(NAN);
