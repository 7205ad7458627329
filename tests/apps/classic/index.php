<?php

echo 'answers once, and ends';
