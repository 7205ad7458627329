<?php
// A mailbox in a file needs no server.
if (!extension_loaded('imap')) { return; }
$file = sys_get_temp_dir() . '/probe' . getmypid() . '.mbox';
file_put_contents($file, "From a@b Thu Jan  1 00:00:00 1970\nFrom: a@b\nTo: c@d\nSubject: =?utf-8?q?x?=\nDate: Thu, 1 Jan 1970 00:00:00 +0000\n\nbody\n\n");
$mail = @imap_open($file, '', '');
if ($mail) {
    imap_num_msg($mail);
    imap_headerinfo($mail, 1);
    imap_fetchstructure($mail, 1);
    imap_fetchbody($mail, 1, '1');
    imap_search($mail, 'SUBJECT x');
    imap_sort($mail, SORTDATE, false);
    imap_setflag_full($mail, '1', '\\Seen');
    imap_check($mail);
    @imap_fetchbody($mail, 9, '1');
    imap_close($mail);
}
imap_errors();
@imap_open('{127.0.0.1:1/imap}INBOX', 'user', 'password', 0, 1);
imap_last_error();
imap_rfc822_parse_headers("From: \"x <a@b>\n\n");
@unlink($file);
