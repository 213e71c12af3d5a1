import * as gst from "../../ffi/gst_video/constants.ts";
import { GstVideoFormatInfo, readGstVideoFormatInfo } from "../../ffi/gst_video/structs.ts";
import { type PixelComponent, planesOfComponents } from "../core/layout/components.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString, textAt } from "../core/native/text.ts";
import { PixelFormats, type PixelsFormat } from "../media/formats.ts";
import { checks, gstVideo } from "./library.ts";

/** The pixel formats that GStreamer describes; their names are those that caps have. */
export const formats = new PixelFormats({
  library: "GStreamer",
  checks,
  names: [
    ...[["GRAY8", "GRAY8"], ["RGB", "RGB"], ["BGR", "BGR"]] as const,
    ...[["RGBA", "RGBA"], ["BGRA", "BGRA"], ["RGBx", "RGBX"], ["BGRx", "BGRX"]] as const,
    ...[["NV12", "NV12"], ["I420", "I420"], ["YV12", "YV12"], ["Y444", "YUV444"]] as const,
    ...[["P010_10LE", "P010"], ["P012_LE", "P012"], ["P016_LE", "P016"]] as const,
    ...[["YUY2", "YUY2"], ["UYVY", "UYVY"]] as const,
  ],
  numberOf(name) {
    const number = gstVideo().gst_video_format_from_string(cString(name));
    return number === gst.GST_VIDEO_FORMAT_UNKNOWN ? undefined : number;
  },
  describe,
});

const { GST_VIDEO_FORMAT_FLAG_COMPLEX, GST_VIDEO_FORMAT_FLAG_PALETTE, GST_VIDEO_FORMAT_FLAG_TILED } = gst;

/** What cannot be elements in memory; `videoconvert` makes others of them. */
const REFUSED: readonly (readonly [flag: number, what: string])[] = [
  [GST_VIDEO_FORMAT_FLAG_TILED, "its pixels lie in tiles"],
  [GST_VIDEO_FORMAT_FLAG_COMPLEX, "its pixels are parts of words"],
  [GST_VIDEO_FORMAT_FLAG_PALETTE, "its bytes stand for colours of a palette"],
];

/** By their names: GStreamer's flag of little-endian numbers is missing for some that are (Y210). */
const BIG_ENDIAN = /BE($|_)|^r210$/;

const REMEDY = "Convert it: put videoconvert and caps of another format in front.";

function describe(format: number, argument: string): PixelsFormat {
  // GStreamer writes a warning on stderr for a number that it does not have; to_string does not.
  const name = format <= gst.GST_VIDEO_FORMAT_ENCODED
    ? undefined
    : textAt(gstVideo().gst_video_format_to_string(format));
  if (name === undefined) throw checks.wrong(argument, `GStreamer has no pixel format ${format}.`);
  const view = viewAt(gstVideo().gst_video_format_get_info(format), GstVideoFormatInfo.size, "gstreamer");
  const { flags, n_components } = readGstVideoFormatInfo(view, 0);
  if (BIG_ENDIAN.test(name)) throw checks.wrong(argument, `its format is ${name}: its numbers are big-endian.`, REMEDY);
  for (const [flag, what] of REFUSED) {
    if ((flags & flag) !== 0) throw checks.wrong(argument, `its format is ${name}: ${what}.`, REMEDY);
  }
  const of = (field: keyof typeof fields, i: number) => view.getInt32(fields[field].offset + 4 * i, true);
  const components = Array.from({ length: n_components }, (_, i): PixelComponent => {
    const bits = of("shift", i) + of("depth", i);
    const offset = of("poffset", i);
    return {
      plane: of("plane", i),
      step: of("pixel_stride", i),
      offset: bits > 8 && offset % 2 === 1 ? 2 * offset : offset, // for P010, GStreamer counts values, not bytes
      bits,
      across: 1 << of("w_sub", i),
      down: 1 << of("h_sub", i),
    };
  });
  return { name, planes: planesOfComponents(components, false) };
}

const { fields } = GstVideoFormatInfo;
