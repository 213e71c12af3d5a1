import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_CAP_HARDWARE, AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX } from "../../ffi/avcodec59/constants.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { coding, struct } from "./library.ts";
import type { Structs } from "./versions.ts";

/** All decoders and encoders of this FFmpeg. */
export function* codecs(): Generator<InMemory<Structs["AVCodec"]>> {
  const place = new BigUint64Array(1);
  for (;;) {
    const address = coding().codec.av_codec_iterate(place);
    if (address === NULL) return;
    yield struct.at("AVCodec", address);
  }
}

/**
 * Returns FFmpeg's first decoder of a codec that works on a device of an API, once it has one; NULL if no decoder does. For
 * AV1 that is not the decoder which FFmpeg takes by itself. Decoders that work on a device only, such as h264_cuvid, are left out:
 * they end where it does not take a stream.
 */
export function decoderOn(api: number, codecId: number): Address {
  const found = codecs().find(({ address, id, capabilities }) => {
    const isDecoder = id === codecId && coding().codec.av_codec_is_decoder(address) !== 0;
    return isDecoder && (capabilities & AV_CODEC_CAP_HARDWARE) === 0 && worksOn(address, api);
  });
  return found?.address ?? NULL;
}

function worksOn(decoder: Address, api: number): boolean {
  for (let i = 0;; i++) {
    const config = coding().codec.avcodec_get_hw_config(decoder, i);
    if (config === NULL) return false;
    const { methods, device_type } = struct.at("AVCodecHWConfig", config);
    if (device_type === api && (methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) !== 0) return true;
  }
}
