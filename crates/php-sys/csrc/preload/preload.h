/* Input of preload lists: what files declare, and which preloaded files a request has used. */
#ifndef HEARTH_PRELOAD_H
#define HEARTH_PRELOAD_H

/* Called when modules start: the first only with the setting hearth.preload_facts=1, the second in classic mode. */
void hearth_register_preload_facts(void);
void hearth_register_preload_used(void);

#endif
