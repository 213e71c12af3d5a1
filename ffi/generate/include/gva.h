/* Metas that DL Streamer registers, as its public headers lay them out. */
#include <gst/gst.h>

typedef struct {
  GstMeta meta;
  gchar *message;
} GstGVAJSONMeta;

typedef struct {
  GstMeta meta;
  GstStructure *data;
} GstGVATensorMeta;

typedef struct {
  GstMeta meta;
  GQuark event_type;
  gint id;
  guint64 start_timestamp;
  guint64 end_timestamp;
  GList *params;
} GstGVAAudioEventMeta;
