/* Metas as DL Streamer registers and writes them, of which no element of GStreamer's makes one; and one that nobody knows. */
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gva.h>

extern "C" {

typedef struct {
  GstMeta meta;
  gint number;
} UnknownMeta;

static gboolean json_init(GstMeta *meta, gpointer, GstBuffer *) {
  ((GstGVAJSONMeta *) meta)->message = NULL;
  return TRUE;
}
static void json_free(GstMeta *meta, GstBuffer *) { g_free(((GstGVAJSONMeta *) meta)->message); }
static gboolean tensor_init(GstMeta *meta, gpointer, GstBuffer *) {
  ((GstGVATensorMeta *) meta)->data = gst_structure_new_empty("meta");
  return TRUE;
}
static void tensor_free(GstMeta *meta, GstBuffer *) { gst_structure_free(((GstGVATensorMeta *) meta)->data); }
static gboolean event_init(GstMeta *meta, gpointer, GstBuffer *) {
  GstGVAAudioEventMeta *event = (GstGVAAudioEventMeta *) meta;
  event->event_type = 0;
  event->id = 0;
  event->start_timestamp = event->end_timestamp = 0;
  event->params = NULL;
  return TRUE;
}
static gboolean unknown_init(GstMeta *meta, gpointer, GstBuffer *) {
  ((UnknownMeta *) meta)->number = 0;
  return TRUE;
}
static gboolean unknown_transform(GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark, gpointer) {
  GstMeta *copy = gst_buffer_add_meta(to, meta->info, NULL);
  ((UnknownMeta *) copy)->number = ((UnknownMeta *) meta)->number;
  return TRUE;
}
static gboolean json_transform(GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark, gpointer) {
  GstMeta *copy = gst_buffer_add_meta(to, meta->info, NULL);
  ((GstGVAJSONMeta *) copy)->message = g_strdup(((GstGVAJSONMeta *) meta)->message);
  return TRUE;
}

static const GstMetaInfo *registered(const char *api, const char *impl, gsize size, GstMetaInitFunction init,
                                     GstMetaFreeFunction free, GstMetaTransformFunction transform) {
  static const gchar *tags[] = {NULL};
  const GstMetaInfo *info = gst_meta_get_info(impl);
  return info ? info : gst_meta_register(gst_meta_api_type_register(api, tags), impl, size, init, free, transform);
}

void register_metas(void) {
  registered("GstGVAJSONMetaAPI", "GstGVAJSONMeta", sizeof(GstGVAJSONMeta), json_init, json_free, json_transform);
  registered("GstGVATensorMetaAPI", "GstGVATensorMeta", sizeof(GstGVATensorMeta), tensor_init, tensor_free, NULL);
  registered("GstGVAAudioEventMetaAPI", "GstGVAAudioEventMeta", sizeof(GstGVAAudioEventMeta), event_init, NULL, NULL);
  registered("UnknownMetaAPI", "UnknownMeta", sizeof(UnknownMeta), unknown_init, NULL, unknown_transform);
}

void add_json(GstBuffer *buffer, const char *message) {
  GstMeta *meta = gst_buffer_add_meta(buffer, gst_meta_get_info("GstGVAJSONMeta"), NULL);
  ((GstGVAJSONMeta *) meta)->message = g_strdup(message);
}

static GstStructure *tensor(const char *name) {
  static const float values[] = {1.5f, -2.5f};
  GstStructure *s = gst_structure_new(name, "model_name", G_TYPE_STRING, "net", "layer_name", G_TYPE_STRING, "prob",
                                      "precision", G_TYPE_INT, 10, "layout", G_TYPE_INT, 193, NULL);
  GVariant *v = g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, values, sizeof values, 1);
  gst_structure_set(s, "data_buffer", G_TYPE_VARIANT, v, "data", G_TYPE_POINTER, g_variant_get_data(v), NULL);
  GValue dims = G_VALUE_INIT, one = G_VALUE_INIT;
  g_value_init(&dims, GST_TYPE_ARRAY);
  g_value_init(&one, G_TYPE_UINT);
  for (guint i = 1; i < 3; i++) {
    g_value_set_uint(&one, i);
    gst_value_array_append_value(&dims, &one);
  }
  gst_structure_take_value(s, "dims", &dims);
  return s;
}

void add_tensor(GstBuffer *buffer) {
  GstGVATensorMeta *meta =
      (GstGVATensorMeta *) gst_buffer_add_meta(buffer, gst_meta_get_info("GstGVATensorMeta"), NULL);
  gst_structure_free(meta->data);
  meta->data = tensor("output");
}

void add_event(GstBuffer *buffer) {
  GstGVAAudioEventMeta *meta =
      (GstGVAAudioEventMeta *) gst_buffer_add_meta(buffer, gst_meta_get_info("GstGVAAudioEventMeta"), NULL);
  meta->event_type = g_quark_from_string("bark");
  meta->id = 3;
  meta->start_timestamp = 1000;
  meta->end_timestamp = 2000;
}

void add_unknown(GstBuffer *buffer, gint number) {
  ((UnknownMeta *) gst_buffer_add_meta(buffer, gst_meta_get_info("UnknownMeta"), NULL))->number = number;
}

gint unknown_of(GstBuffer *buffer) {
  GstMeta *meta = gst_buffer_get_meta(buffer, g_type_from_name("UnknownMetaAPI"));
  return meta ? ((UnknownMeta *) meta)->number : -1;
}

void add_region(GstBuffer *buffer, const char *label, guint x, guint y, guint w, guint h, double confidence) {
  GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta(buffer, label, x, y, w, h);
  gst_video_region_of_interest_meta_add_param(
      meta, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, confidence, "label_id", G_TYPE_INT, 7, NULL));
  GstStructure *classified = tensor("classification_layer_name:prob");
  gst_structure_set(classified, "label", G_TYPE_STRING, "red", "confidence", G_TYPE_DOUBLE, 0.5, NULL);
  gst_video_region_of_interest_meta_add_param(meta, classified);
  gst_video_region_of_interest_meta_add_param(meta, gst_structure_new("object_id", "id", G_TYPE_INT, 42, NULL));
}

/* All metas of a buffer in words, as another program of DL Streamer's kind sees them. */
gchar *metas_of(GstBuffer *buffer) {
  GString *all = g_string_new(NULL);
  gpointer state = NULL;
  GstMeta *meta;
  while ((meta = gst_buffer_iterate_meta(buffer, &state))) {
    const gchar *api = g_type_name(meta->info->api);
    if (g_str_equal(api, "GstVideoRegionOfInterestMetaAPI")) {
      GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *) meta;
      g_string_append_printf(all, "region %s %d %d: %u %u %u %u", g_quark_to_string(roi->roi_type), roi->id,
                             roi->parent_id, roi->x, roi->y, roi->w, roi->h);
      for (GList *list = roi->params; list; list = list->next) {
        GstStructure *s = (GstStructure *) list->data;
        gdouble confidence = -1;
        gint number = -1;
        gsize bytes = 0;
        gst_structure_get_double(s, "confidence", &confidence);
        if (!gst_structure_get_int(s, "precision", &number)) gst_structure_get_int(s, "id", &number);
        const GValue *data = gst_structure_get_value(s, "data_buffer");
        if (data) g_variant_get_fixed_array(g_value_get_variant(data), &bytes, 1);
        g_string_append_printf(all, " [%s %g %d %zu %s]", gst_structure_get_name(s), confidence, number, bytes,
                               gst_structure_get_string(s, "label"));
      }
    } else if (g_str_equal(api, "GstGVAJSONMetaAPI")) {
      g_string_append_printf(all, "json %s", ((GstGVAJSONMeta *) meta)->message);
    } else if (g_str_equal(api, "GstGVATensorMetaAPI")) {
      GstStructure *s = ((GstGVATensorMeta *) meta)->data;
      const GValue *dims = gst_structure_get_value(s, "dims");
      g_string_append_printf(all, "tensor %s %s %u", gst_structure_get_name(s),
                             gst_structure_get_string(s, "layer_name"),
                             g_value_get_uint(gst_value_array_get_value(dims, 1)));
    } else if (g_str_equal(api, "GstGVAAudioEventMetaAPI")) {
      GstGVAAudioEventMeta *event = (GstGVAAudioEventMeta *) meta;
      g_string_append_printf(all, "event %s %d %" G_GUINT64_FORMAT, g_quark_to_string(event->event_type), event->id,
                             event->end_timestamp);
    } else if (gst_meta_info_is_custom(meta->info)) {
      gchar *text = gst_structure_to_string(gst_custom_meta_get_structure((GstCustomMeta *) meta));
      g_string_append_printf(all, "custom %s", text);
      g_free(text);
    } else {
      g_string_append(all, api);
    }
    g_string_append_c(all, '\n');
  }
  return g_string_free(all, FALSE);
}
}
