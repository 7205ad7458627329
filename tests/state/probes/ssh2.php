<?php
if (!extension_loaded('ssh2') || !getenv('SSH_PORT')) { return; }
$folder = getenv('SSH_FOLDER');
$ssh = ssh2_connect('127.0.0.1', (int) getenv('SSH_PORT'), ['hostkey' => 'rsa-sha2-512,ssh-rsa,ssh-ed25519'], ['disconnect' => fn () => null]);
ssh2_fingerprint($ssh);
ssh2_methods_negotiated($ssh);
@ssh2_auth_password($ssh, 'nobody', 'wrong');
if (@ssh2_auth_pubkey_file($ssh, posix_getpwuid(posix_geteuid())['name'], "$folder/key.pub", "$folder/key")) {
    $stream = ssh2_exec($ssh, 'echo x');
    stream_set_blocking($stream, true);
    stream_get_contents($stream);
    $sftp = ssh2_sftp($ssh);
    file_put_contents("ssh2.sftp://$sftp$folder/written", 'x');
    ssh2_sftp_stat($sftp, "$folder/written");
    @ssh2_sftp_unlink($sftp, "$folder/none");
    ssh2_scp_send($ssh, __FILE__, "$folder/sent");
    unset($stream, $sftp);
}
@ssh2_connect('127.0.0.1', 1);
