<?php

return fn () => 'ok';
