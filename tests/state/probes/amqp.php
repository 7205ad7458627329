<?php
if (!extension_loaded('amqp') || !getenv('AMQP_PORT')) { return; }
$connection = new AMQPConnection(['host' => '127.0.0.1', 'port' => (int) getenv('AMQP_PORT'), 'login' => 'guest', 'password' => 'guest', 'read_timeout' => 5, 'connect_timeout' => 5]);
$connection->connect();
$channel = new AMQPChannel($connection);
$queue = new AMQPQueue($channel);
$queue->setName('probe' . getmypid());
$queue->setFlags(AMQP_EXCLUSIVE | AMQP_AUTODELETE);
$queue->declareQueue();
$exchange = new AMQPExchange($channel);
$exchange->publish('body', $queue->getName(), AMQP_NOPARAM, ['headers' => ['a' => ['b' => ['c' => 1]]]]);
$queue->consume(function (AMQPEnvelope $message, AMQPQueue $queue) { $queue->ack($message->getDeliveryTag()); return false; });
$queue->get();
try {
    (new AMQPQueue($channel))->delete();
    $other = new AMQPChannel($connection);
    $missing = new AMQPExchange($other);
    $missing->setName('missing');
    $missing->setType('nonsense');
    $missing->declareExchange();
} catch (AMQPException) {
}
$connection->disconnect();
