<?php
$r = new Redis; try { $r->connect('127.0.0.1', 1, 0.1); } catch (RedisException) {} ini_set('redis.session.locking_enabled', '1'); try { new RedisArray(['127.0.0.1:1']); } catch (Throwable) {} try { new RedisCluster(null, ['127.0.0.1:1'], 0.1); } catch (Throwable) {}
