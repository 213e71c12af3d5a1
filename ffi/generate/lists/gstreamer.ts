import { fromFileUrl } from "@std/path";
import type { FunctionEntry, Library } from "../library.ts";

/** Where `deno task setup test` unpacks the headers, and a version for which GLib's C++ needs no header of libstdc++. */
const HEADERS = {
  folders: [fromFileUrl(new URL("../../../.gstreamer/include", import.meta.url))],
  defines: { GLIB_VERSION_MIN_REQUIRED: "GLIB_VERSION_2_26", GST_USE_UNSTABLE_API: "" },
};

/** What GLib and GStreamer make is passed by its address; strings, and numbers that come back, are buffers. */
function taking(address: readonly string[], ...names: readonly string[]): FunctionEntry[] {
  return names.map((name) => ({ name, address }));
}

/** GLib: what frees and names things. */
export const glib: Library = {
  name: "glib",
  interface: "GLib",
  headers: ["glib.h"],
  ...HEADERS,
  functions: [
    ...taking(["mem"], "g_free"),
    ...taking(["error"], "g_error_free"),
    "g_quark_from_string",
    "g_quark_to_string",
    "g_strdup",
    ...taking(["value"], "g_variant_get_type_string", "g_variant_get_size", "g_variant_get_data"),
    "g_variant_new_fixed_array",
  ],
  constants: [],
  structs: ["GError", "GList"],
};

/** GObject: types, references, properties and their values. */
export const gobject: Library = {
  name: "gobject",
  interface: "GObject",
  headers: ["glib-object.h"],
  ...HEADERS,
  functions: [
    ...taking(["names", "values"], "g_object_new_with_properties"),
    ...taking(["object"], "g_object_get_property"),
    "g_type_name",
    "g_type_from_name",
    "g_type_is_a",
    "g_type_register_static_simple",
    "g_type_class_ref",
    "g_value_init",
    "g_value_unset",
    "g_value_get_boolean",
    "g_value_get_int",
    "g_value_get_uint",
    "g_value_get_int64",
    "g_value_get_uint64",
    "g_value_get_float",
    "g_value_get_double",
    "g_value_get_string",
    "g_value_get_variant",
    ...taking(["variant"], "g_value_set_variant"),
    "g_value_set_boolean",
    "g_value_set_int",
    "g_value_set_uint",
    "g_value_set_int64",
    "g_value_set_float",
    "g_value_set_double",
    "g_value_set_string",
    ...taking(["instance"], "g_type_check_instance_is_a"),
  ],
  constants: [
    {
      type: "GType",
      names: [
        "BOOLEAN",
        "INT",
        "UINT",
        "INT64",
        "UINT64",
        "FLOAT",
        "DOUBLE",
        "STRING",
        "POINTER",
        "VARIANT",
        "ENUM",
        "FLAGS",
      ].map(
        (name) => `G_TYPE_${name}`,
      ),
    },
  ],
  structs: [
    { type: "GValue", fields: ["g_type", ["data", "data[0].v_uint64"]] },
    { type: "GTypeInstance", fields: ["g_class"] },
    { type: "GTypeClass", fields: ["g_type"] },
    "GTypeQuery",
  ],
};

/** GStreamer's core. `gst_buffer_fill`, `_extract` and `_copy` are left out: a copy is a step of a route. */
export const gstreamer: Library = {
  name: "gstreamer",
  interface: "GStreamer",
  headers: ["gst/gst.h"],
  ...HEADERS,
  functions: [
    "gst_is_initialized",
    "gst_deinit",
    "gst_version",
    "gst_registry_get",
    "gst_context_new",
    "gst_registry_fork_set_enabled",
    "gst_parse_launch",
    "gst_element_state_get_name",
    "gst_event_new_flush_start",
    "gst_event_new_flush_stop",
    "gst_structure_new_empty",
    "gst_value_array_get_size",
    "gst_value_array_get_value",
    "gst_value_array_append_value",
    "gst_value_array_get_type",
    "gst_caps_from_string",
    "gst_buffer_new",
    "gst_buffer_get_max_memory",
    "gst_meta_get_info",
    ...taking(["info"], "gst_meta_info_is_custom"),
    "gst_allocator_find",
    "gst_allocator_get_type",
    "gst_init_check",
    { name: "gst_init_check", as: "gst_init_checkAsync", nonblocking: true },
    ...taking(
      ["object"],
      "gst_util_set_object_arg",
      "gst_object_ref",
      "gst_object_ref_sink",
      "gst_object_unref",
      "gst_object_get_name",
    ),
    ...taking(["registry"], "gst_registry_find_plugin"),
    ...taking(["plugin"], "gst_plugin_get_version"),

    ...taking(["mini_object"], "gst_mini_object_ref", "gst_mini_object_unref"),
    ...taking(["object"], "gst_mini_object_get_qdata"),
    ...taking(["object", "data"], "gst_mini_object_set_qdata"),
    ...taking(["bin"], "gst_bin_get_by_name"),
    ...taking(
      ["element"],
      "gst_element_set_state",
      "gst_element_get_state",
      "gst_element_seek",
      "gst_element_query_position",
      "gst_element_query_duration",
      "gst_element_get_bus",
      "gst_element_get_static_pad",
    ),
    { name: "gst_element_set_state", as: "gst_element_set_stateAsync", address: ["element"], nonblocking: true },
    { name: "gst_element_get_state", as: "gst_element_get_stateAsync", address: ["element"], nonblocking: true },
    { name: "gst_element_seek", as: "gst_element_seekAsync", address: ["element"], nonblocking: true },
    ...taking(["element", "event"], "gst_element_send_event"),
    ...taking(["element", "context"], "gst_element_set_context"),

    ...taking(["bus"], "gst_bus_timed_pop_filtered", "gst_bus_have_pending"),
    {
      name: "gst_bus_timed_pop_filtered",
      as: "gst_bus_timed_pop_filteredAsync",
      address: ["bus"],
      nonblocking: true,
    },

    ...taking(["message"], "gst_message_parse_error", "gst_message_parse_warning"),
    ...taking(
      ["structure"],
      "gst_structure_free",
      "gst_structure_get_name",
      "gst_structure_n_fields",
      "gst_structure_nth_field_name",
      "gst_structure_get_value",
      "gst_structure_set_value",
    ),
    ...taking(["features"], "gst_caps_features_contains"),
    ...taking(["caps"], "gst_caps_get_features", "gst_caps_to_string", "gst_caps_get_structure", "gst_caps_is_fixed"),

    ...taking(["buffer", "caps", "info"], "gst_sample_new"),
    ...taking(["sample"], "gst_sample_get_buffer", "gst_sample_get_buffer_list", "gst_sample_get_caps"),
    "gst_buffer_list_new_sized",
    ...taking(["list"], "gst_buffer_list_length", "gst_buffer_list_get"),
    ...taking(["list", "buffer"], "gst_buffer_list_insert"),
    ...taking(["buffer", "mem"], "gst_buffer_append_memory", "gst_buffer_replace_memory_range"),
    ...taking(
      ["buffer"],
      "gst_buffer_n_memory",
      "gst_buffer_peek_memory",
      "gst_buffer_get_memory",
      "gst_buffer_is_all_memory_writable",
      "gst_buffer_get_size",
      "gst_buffer_map",
      "gst_buffer_unmap",
      "gst_buffer_get_flags",
      "gst_buffer_set_flags",
      "gst_buffer_unset_flags",
      "gst_buffer_iterate_meta",
      "gst_buffer_get_meta",
      "gst_buffer_add_custom_meta",
    ),
    ...taking(["dest", "src"], "gst_buffer_copy_into"),
    ...taking(["buffer", "info", "params"], "gst_buffer_add_meta"),
    ...taking(["buffer", "meta"], "gst_buffer_remove_meta"),

    ...taking(["meta"], "gst_custom_meta_get_structure"),
    ...taking(["user_data"], "gst_meta_register_custom"),
    ...taking(["data", "user_data"], "gst_memory_new_wrapped"),
    ...taking(["mem"], "gst_memory_map", "gst_memory_unmap", "gst_memory_resize"),
    ...taking(["allocator"], "gst_allocator_alloc"),

    ...taking(["pool"], "gst_buffer_pool_acquire_buffer", "gst_buffer_pool_get_config"),
    ...taking(["pool", "config"], "gst_buffer_pool_set_config"),
    ...taking(["config", "caps"], "gst_buffer_pool_config_set_params"),
    ...taking(["config"], "gst_buffer_pool_config_add_option"),

    ...taking(["pad", "user_data"], "gst_pad_add_probe"),
    ...taking(
      ["pad"],
      "gst_pad_remove_probe",
      "gst_pad_is_blocking",
      "gst_pad_get_current_caps",
      "gst_pad_get_peer",
      "gst_pad_get_parent_element",
    ),

    ...taking(["pad", "event"], "gst_pad_send_event"),
    ...taking(["query"], "gst_query_parse_nth_allocation_param"),

    ...taking(["query", "allocator"], "gst_query_add_allocation_param"),
    ...taking(["query", "pool"], "gst_query_add_allocation_pool"),
  ],
  constants: [
    { type: "GstClockTime", names: ["GST_CLOCK_TIME_NONE"] },
    { type: "guint64", names: ["GST_BUFFER_OFFSET_NONE"] },
    { type: "GstState", names: ["GST_STATE_VOID_PENDING", ...states("NULL", "READY", "PAUSED", "PLAYING")] },
    {
      type: "GstStateChangeReturn",
      names: ["FAILURE", "SUCCESS", "ASYNC", "NO_PREROLL"].map((name) => `GST_STATE_CHANGE_${name}`),
    },
    { type: "GstMessageType", names: ["GST_MESSAGE_*"] },
    { type: "GstFlowReturn", names: ["GST_FLOW_*", "!GST_FLOW_CUSTOM_*"] },
    { type: "GstFormat", names: ["GST_FORMAT_*"] },
    { type: "GstSeekFlags", names: ["GST_SEEK_FLAG_*"] },
    { type: "GstSeekType", names: ["GST_SEEK_TYPE_*"] },
    { type: "GstMapFlags", names: ["GST_MAP_READ", "GST_MAP_WRITE", "GST_MAP_FLAG_LAST"] },
    { type: "GstMemoryFlags", names: ["GST_MEMORY_FLAG_*"] },
    { type: "GstBufferFlags", names: ["GST_BUFFER_FLAG_*"] },
    {
      type: "GstBufferCopyFlags",
      names: ["FLAGS", "TIMESTAMPS", "META", "MEMORY", "DEEP"].map((name) => `GST_BUFFER_COPY_${name}`),
    },
    { type: "GstMetaFlags", names: ["GST_META_FLAG_*"] },
    { type: "GstQueryType", names: ["GST_QUERY_ALLOCATION"] },
    { type: "GstBufferPoolAcquireFlags", names: ["GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT"] },
    { type: "GstPadProbeType", names: ["GST_PAD_PROBE_TYPE_*"] },
    {
      type: "GstPadProbeReturn",
      names: ["DROP", "OK", "REMOVE", "PASS", "HANDLED"].map((name) => `GST_PAD_PROBE_${name}`),
    },
  ],
  structs: [
    { type: "GstMiniObject", fields: ["type", "refcount", "lockstate", "flags"] },
    { type: "GstObject", fields: ["name", "parent"] },
    {
      type: "GstBuffer",
      fields: [
        ["refcount", "mini_object.refcount"],
        ["flags", "mini_object.flags"],
        ...["pool", "pts", "dts", "duration", "offset", "offset_end"],
      ],
    },
    {
      type: "GstMemory",
      fields: [
        ["refcount", "mini_object.refcount"],
        ["flags", "mini_object.flags"],
        ...["allocator", "parent", "maxsize", "align", "offset", "size"],
      ],
    },
    { type: "GstMapInfo", fields: ["memory", "flags", "data", "size", "maxsize"] },
    { type: "GstMeta", fields: ["flags", "info"] },
    { type: "GstMetaInfo", fields: ["api", "type", "size"] },
    { type: "GstParentBufferMeta", fields: ["buffer"] },
    { type: "GstMessage", fields: ["type", "timestamp", "src", "seqnum"] },
    {
      type: "GstSegment",
      fields: [
        "flags",
        "rate",
        "applied_rate",
        "format",
        "base",
        "offset",
        "start",
        "stop",
        "time",
        "position",
        "duration",
      ],
    },
    { type: "GstAllocationParams", fields: ["flags", "align", "prefix", "padding"] },
    { type: "GstAllocator", fields: ["mem_type"] },
    { type: "GstAllocatorClass", fields: ["alloc", "free"] },
    { type: "GstQuery", fields: ["type"] },
    { type: "GstBufferPoolAcquireParams", fields: ["flags"] },
    { type: "GstPadProbeInfo", fields: ["type", "id", "data", "offset", "size"] },
  ],
};

function states(...names: readonly string[]): string[] {
  return names.map((name) => `GST_STATE_${name}`);
}

/** Buffers out of a pipeline, and into one. */
export const gstApp: Library = {
  name: "gst_app",
  interface: "GstApp",
  headers: ["gst/app/app.h"],
  ...HEADERS,
  functions: [
    "gst_app_sink_get_type",
    "gst_app_src_get_type",
    ...taking(
      ["appsink"],
      "gst_app_sink_try_pull_sample",
      "gst_app_sink_try_pull_preroll",
      "gst_app_sink_is_eos",
      "gst_app_sink_set_max_buffers",
      "gst_app_sink_set_drop",
      "gst_app_sink_set_emit_signals",
    ),
    {
      name: "gst_app_sink_try_pull_sample",
      as: "gst_app_sink_try_pull_sampleAsync",
      address: ["appsink"],
      nonblocking: true,
    },

    ...taking(["appsrc", "buffer"], "gst_app_src_push_buffer"),
    ...taking(
      ["appsrc"],
      "gst_app_src_end_of_stream",
      "gst_app_src_set_stream_type",
      "gst_app_src_get_current_level_buffers",
      "gst_app_src_set_emit_signals",
    ),
    ...taking(["appsrc", "caps"], "gst_app_src_set_caps"),
  ],
  constants: [{ type: "GstAppStreamType", names: ["GST_APP_STREAM_TYPE_*"] }],
  structs: [],
};

/** Pictures: formats, what caps say of them, and the metas of a buffer. */
export const gstVideo: Library = {
  name: "gst_video",
  interface: "GstVideo",
  headers: ["gst/video/video.h"],
  ...HEADERS,
  functions: [
    "gst_video_info_init",
    "gst_video_info_to_caps",
    "gst_video_info_set_format",
    "gst_video_format_from_string",
    "gst_video_format_to_string",
    "gst_video_format_get_info",
    "gst_video_meta_api_get_type",
    "gst_video_crop_meta_get_info",
    "gst_video_crop_meta_api_get_type",
    "gst_video_frame_unmap",
    "gst_video_info_align",
    ...["color_matrix", "transfer_function", "color_primaries"].flatMap((fact) =>
      ["to_iso", "from_iso"].map((way) => `gst_video_${fact}_${way}`)
    ),
    "gst_video_buffer_pool_new",
    ...taking(["config"], "gst_buffer_pool_config_set_video_alignment"),
    ...taking(["caps"], "gst_video_info_from_caps"),
    ...taking(
      ["buffer"],
      "gst_buffer_get_video_meta",
      "gst_buffer_add_video_meta_full",
      "gst_video_frame_map",
      "gst_buffer_add_video_region_of_interest_meta",
    ),

    ...taking(["meta", "s"], "gst_video_region_of_interest_meta_add_param"),
  ],
  constants: [
    { type: "GstVideoFormat", names: ["GST_VIDEO_FORMAT_UNKNOWN", "GST_VIDEO_FORMAT_ENCODED"] },
    { type: "GstVideoFormatFlags", names: ["GST_VIDEO_FORMAT_FLAG_*"] },
    { type: "GstVideoColorRange", names: ["GST_VIDEO_COLOR_RANGE_*"] },
    { type: "GstVideoChromaSite", names: ["GST_VIDEO_CHROMA_SITE_*"] },
    { type: "GstVideoInterlaceMode", names: ["GST_VIDEO_INTERLACE_MODE_*"] },
    { type: "GstVideoFrameFlags", names: ["GST_VIDEO_FRAME_FLAG_NONE"] },
    { type: "int", names: ["GST_VIDEO_MAX_PLANES", "GST_VIDEO_MAX_COMPONENTS"] },
  ],
  structs: [
    {
      type: "GstVideoFormatInfo",
      fields: [
        ...["format", "name", "flags", "bits", "n_components", "n_planes"],
        ...["shift", "depth", "pixel_stride", "plane", "poffset", "w_sub", "h_sub"].map((name) =>
          [name, `${name}[0]`] as const
        ),
      ],
    },
    {
      type: "GstVideoInfo",
      fields: [
        ...["finfo", "interlace_mode", "flags", "width", "height", "size", "views", "chroma_site"],
        ...["range", "matrix", "transfer", "primaries"].map((name) => [name, `colorimetry.${name}`] as const),
        ["colorimetry", "colorimetry.range"],
        ...["par_n", "par_d", "fps_n", "fps_d"],
        ["offset", "offset[0]"],
        ["stride", "stride[0]"],
      ],
    },
    {
      type: "GstVideoMeta",
      fields: [
        ["info", "meta.info"],
        ...["buffer", "flags", "format", "id", "width", "height", "n_planes"],
        ["offset", "offset[0]"],
        ["stride", "stride[0]"],
        ...["map", "unmap"],
      ],
    },
    { type: "GstVideoCropMeta", fields: ["x", "y", "width", "height"] },
    {
      type: "GstVideoRegionOfInterestMeta",
      fields: ["roi_type", "id", "parent_id", "x", "y", "w", "h", "params"],
    },
    {
      type: "GstVideoAlignment",
      fields: [
        ...["padding_top", "padding_bottom", "padding_left", "padding_right"],
        ["stride_align", "stride_align[0]"],
      ],
    },
  ],
};

/** Sound: formats, and what caps say of them. */
export const gstAudio: Library = {
  name: "gst_audio",
  interface: "GstAudio",
  headers: ["gst/audio/audio.h"],
  ...HEADERS,
  functions: [
    "gst_audio_info_init",
    "gst_audio_info_to_caps",
    "gst_audio_info_set_format",
    "gst_audio_format_from_string",
    "gst_audio_format_to_string",
    "gst_audio_meta_api_get_type",
    ...taking(["caps"], "gst_audio_info_from_caps"),
    ...taking(["buffer"], "gst_buffer_add_audio_meta"),
  ],
  constants: [
    { type: "GstAudioLayout", names: ["GST_AUDIO_LAYOUT_*"] },
    { type: "GstAudioFormat", names: ["GST_AUDIO_FORMAT_UNKNOWN", "GST_AUDIO_FORMAT_ENCODED"] },
    { type: "GstAudioFormatFlags", names: ["GST_AUDIO_FORMAT_FLAG_*"] },
  ],
  structs: [
    { type: "GstAudioFormatInfo", fields: ["format", "name", "flags", "endianness", "width", "depth"] },
    {
      type: "GstAudioInfo",
      fields: ["finfo", "flags", "layout", "rate", "channels", "bpf", ["position", "position[0]"]],
    },
    { type: "GstAudioMeta", fields: [["info", "info.finfo"], "samples", "offsets"] },
  ],
};

/** The metas of DL Streamer's, which need not be here: what it has written is read by these layouts. */
export const gstGva: Library = {
  name: "gst_gva",
  interface: "GstGva",
  headers: ["gst/gst.h", "gva.h"],
  ...HEADERS,
  folders: [...HEADERS.folders, fromFileUrl(new URL("../include", import.meta.url))],
  functions: [],
  constants: [],
  structs: [
    { type: "GstGVAJSONMeta", fields: ["message"] },
    { type: "GstGVATensorMeta", fields: ["data"] },
    { type: "GstGVAAudioEventMeta", fields: ["event_type", "id", "start_timestamp", "end_timestamp", "params"] },
  ],
};

/** Memory that is an fd, or a dma-buf. */
export const gstAllocators: Library = {
  name: "gst_allocators",
  interface: "GstAllocators",
  headers: ["gst/allocators/allocators.h"],
  ...HEADERS,
  functions: [
    "gst_dmabuf_allocator_new",
    "gst_fd_allocator_new",
    ...taking(["allocator"], "gst_dmabuf_allocator_alloc_with_flags", "gst_fd_allocator_alloc"),
    ...taking(["mem"], "gst_dmabuf_memory_get_fd", "gst_is_dmabuf_memory"),
  ],
  constants: [{ type: "GstFdMemoryFlags", names: ["GST_FD_MEMORY_FLAG_*"] }],
  structs: [],
};

/** OpenGL's contexts and textures, where a program shares them with the elements of a pipeline. */
export const gstGl: Library = {
  name: "gst_gl",
  interface: "GstGl",
  headers: ["gst/gl/gl.h", "gst/gl/egl/gstgldisplay_egl.h"],
  ...HEADERS,
  functions: [
    { name: "gst_gl_display_egl_new_with_egl_display", address: ["display"] },
    "gst_gl_sync_meta_api_get_type",
    ...taking(["display"], "gst_gl_display_filter_gl_api", "gst_gl_context_new", "gst_gl_context_new_wrapped"),
    ...taking(["display", "context"], "gst_gl_display_add_context", "gst_gl_display_remove_context"),
    ...taking(["context", "other_context"], "gst_gl_context_create", "gst_gl_context_can_share"),
    ...taking(["context", "display"], "gst_context_set_gl_display"),
    ...taking(["context", "buffer"], "gst_buffer_add_gl_sync_meta"),
    ...taking(["sync_meta", "context"], "gst_gl_sync_meta_set_sync_point", "gst_gl_sync_meta_wait"),
    ...taking(["sync_meta", "context"], "gst_gl_sync_meta_wait_cpu"),
    ...taking(["gl_mem"], "gst_gl_memory_get_texture_id", "gst_gl_memory_get_texture_target"),
    "gst_gl_memory_init_once",
    ...taking(["context"], "gst_gl_format_from_video_info"),
    ...taking(["context", "user_data", "notify"], "gst_gl_video_allocation_params_new_wrapped_texture"),
    ...taking(["allocator", "params"], "gst_gl_base_memory_alloc"),
    ...taking(["params"], "gst_gl_allocation_params_free"),
  ],
  constants: [
    { type: "GstGLPlatform", names: ["GST_GL_PLATFORM_EGL"] },
    { type: "GstGLAPI", names: ["GST_GL_API_GLES2"] },
    { type: "GstGLTextureTarget", names: ["GST_GL_TEXTURE_TARGET_2D"] },
    { type: "int", names: ["GST_MAP_GL"] },
  ],
  structs: [{ type: "GstGLBaseMemory", fields: ["context"] }],
};

/** VA-API's surfaces, where the elements of a pipeline work on a program's display. */
export const gstVa: Library = {
  name: "gst_va",
  interface: "GstVa",
  headers: ["gst/va/gstva.h"],
  ...HEADERS,
  functions: [
    "gst_va_display_get_type",
    { name: "gst_va_display_wrapped_new", address: ["handle"] },
    ...taking(["self"], "gst_va_display_get_va_dpy"),
    ...taking(["context", "display"], "gst_context_set_va_display"),
    ...taking(["mem"], "gst_va_memory_get_surface", "gst_va_memory_peek_display"),
  ],
  constants: [],
  structs: [],
};
