import type { Mapper } from "../../core/graph/mapper.ts";
import { hostToVaapi } from "./host_to_vaapi.ts";
import { vaapiToHost } from "./vaapi_to_host.ts";

export { hostToVaapi, vaapiToHost };

export const EDGES: readonly Mapper[] = [vaapiToHost, hostToVaapi] as readonly unknown[] as readonly Mapper[];
