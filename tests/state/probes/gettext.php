<?php
textdomain('probe'); bindtextdomain('probe', '/tmp'); bind_textdomain_codeset('probe', 'UTF-8'); gettext('x'); _('y'); dgettext('other', 'x'); ngettext('a', 'b', 2); setlocale(LC_MESSAGES, 'C.UTF-8');
