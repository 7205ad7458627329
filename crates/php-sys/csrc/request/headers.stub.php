<?php

/** @implementation-alias Hearth_getallheaders */
function getallheaders(): array {}

/** @implementation-alias Hearth_getallheaders */
function apache_request_headers(): array {}

/** @implementation-alias Hearth_apache_response_headers */
function apache_response_headers(): array {}
