<?php

return fn () => (string) getmypid();
