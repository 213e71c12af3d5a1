import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_CAP_HARDWARE, AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX } from "../../ffi/avcodec59/constants.ts";
import { coding, struct } from "./library.ts";

/**
 * Returns FFmpeg's first decoder of a codec that works on a device of an API, once it has one; NULL if no decoder does. For
 * AV1 that is not the decoder which FFmpeg takes by itself. Decoders that work on a device only, such as h264_cuvid, are left out:
 * they end where it does not take a stream.
 */
export function decoderOn(api: number, codecId: number): Address {
  const { codec } = coding();
  const place = new BigUint64Array(1);
  for (;;) {
    const decoder = codec.av_codec_iterate(place);
    if (decoder === NULL) return NULL;
    if (codec.av_codec_is_decoder(decoder) === 0) continue;
    const { id, capabilities } = struct.at("AVCodec", decoder);
    if (id === codecId && (capabilities & AV_CODEC_CAP_HARDWARE) === 0 && worksOn(decoder, api)) return decoder;
  }
}

function worksOn(decoder: Address, api: number): boolean {
  for (let i = 0;; i++) {
    const config = coding().codec.avcodec_get_hw_config(decoder, i);
    if (config === NULL) return false;
    const { methods, device_type } = struct.at("AVCodecHWConfig", config);
    if (device_type === api && (methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) !== 0) return true;
  }
}
