// A libavutil of a version that samepage does not know: all else is the installed one's, which it is linked to.

unsigned avutil_version(void);

unsigned avutil_version(void) { return 99u << 16 | 3u << 8 | 100u; }
