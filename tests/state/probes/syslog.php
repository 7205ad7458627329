<?php
openlog('probe', LOG_PID, LOG_USER);
