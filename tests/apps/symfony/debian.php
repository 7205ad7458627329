<?php

declare(strict_types=1);

// What Composer would have installed below vendor/.
foreach (['Bundle/FrameworkBundle', 'Component/Dotenv', 'Component/Mime', 'Component/Runtime'] as $package) {
    require_once "Symfony/$package/autoload.php";
}
require_once 'Doctrine/DBAL/autoload.php';
