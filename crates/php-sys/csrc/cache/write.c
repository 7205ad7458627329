/* Writes a value with its expiry and tags. */
#include "cache/cache.h"

bool hearth_cache_terms_of(const hearth_cache_object *self, double ttl, bool forever, uint32_t argument, HashTable *tags,
	hearth_cache_terms *out)
{
	return hearth_cache_time(ttl, forever, argument, &out->ttl) && hearth_cache_tags_of(self, tags, argument + 1, &out->tags);
}

void hearth_cache_terms_free(hearth_cache_terms *terms)
{
	smart_str_free(&terms->tags.text);
}

hearth_cache_write hearth_cache_write_of(const hearth_cache_key *key, const hearth_cache_terms *terms)
{
	return (hearth_cache_write){
		.key = {key->ptr, key->len}, .ttl = (uint64_t) terms->ttl, .tags = terms->tags.list, .tag_count = terms->tags.count,
	};
}

bool hearth_cache_write_value(const hearth_cache_object *self, zend_string *name, zval *value, const hearth_cache_terms *terms,
	int condition)
{
	hearth_cache_key key;
	hearth_cache_encoded encoded;
	hearth_cache_write write;
	bool done;

	if (!hearth_cache_key_of(self, name, 1, &key)) {
		return false;
	}
	if (terms->ttl < 0) {
		/* The time is over already: nothing is kept. */
		int outcome = condition == HEARTH_CACHE_ALWAYS ? hearth_on_cache_delete((hearth_str){key.ptr, key.len}) : HEARTH_CACHE_NO;

		hearth_cache_done(outcome, 0);
		return condition == HEARTH_CACHE_ALWAYS && !EG(exception);
	}
	if (!hearth_cache_encode(value, 2, &encoded)) {
		return false;
	}
	write = hearth_cache_write_of(&key, terms);
	write.encoding = encoded.encoding;
	write.number = encoded.number;
	write.bytes = hearth_cache_bytes(&encoded);
	write.condition = condition;
	done = hearth_cache_done(hearth_on_cache_write(&write), write.bytes.len);
	hearth_cache_encoded_free(&encoded);
	return done;
}
