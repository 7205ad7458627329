<?php

/** @implementation-alias Hearth_fastcgi_finish_request */
function fastcgi_finish_request(): bool {}
