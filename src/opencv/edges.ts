import type { Mapper } from "../core/graph/mapper.ts";
import { portMapper } from "../core/graph/port_mapper.ts";

/** The edge that an OpenCVContext brings, so that a graph without the host knows it too. */
export const EDGES: readonly Mapper[] = [portMapper("host", "opencv.mat")];
