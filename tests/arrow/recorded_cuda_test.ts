/** Arrow's C device interface over a recording of CUDA: which calls are made, and what the structs say. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, Frame, host, NativeCallError } from "../../mod.ts";
import * as dev from "../../ffi/arrow/constants.ts";
import { ArrowDeviceArray, readArrowDeviceArray } from "../../ffi/arrow/structs.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../ffi/cuda_driver/errors.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import { fromArrow, toArrow } from "../../src/arrow/mod.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import type { Address } from "../../ffi/address.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { memory, produced, theirs, Words } from "./arrow.ts";

const START = 0x7000_0000_0000n;
const [SOME, OTHER] = [0x70n, 0x71n];
const ENDS = START + 4096n;

const waits: [stream: bigint, event: bigint][] = [];
let failing = 0;
let isBusy = false;

const recorded = recordedTests({
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number, address: bigint) => {
    if (address < START || address >= ENDS) return CUDA_ERROR_INVALID_VALUE;
    const words = new Uint32Array(out.buffer);
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) words[0] = cu.CU_MEMORYTYPE_DEVICE;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) words[0] = 0;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = START;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = 4096n;
    else throw new Error(`attribute ${attribute}`);
    return 0;
  },
  cudaEventQuery: () => isBusy ? cudaErrorNotReady : 0,
  cudaStreamWaitEvent: (stream: bigint, event: bigint) => {
    waits.push([stream, event]);
    return failing;
  },
});

function test(name: string, run: (cuda: CudaContext) => void): void {
  recorded(
    name,
    () => {
      waits.length = failing = 0;
      using cuda = CudaContext.open();
      run(cuda);
    },
    {},
    theirs === undefined ? "Arrow's header" : undefined,
  );
}

/** What a struct says of its device. */
const deviceOf = (array: bigint) => readArrowDeviceArray(viewAt(array as Address, ArrowDeviceArray.size, "test"), 0);

/** An array of the other library's on the device. */
function deviceArray(address: bigint, { id = 0n, type = dev.ARROW_DEVICE_CUDA as number, event = 0n } = {}) {
  const { schema, array } = produced("f", { length: 8n, buffers: [0n, address] });
  const device = new Words(ArrowDeviceArray);
  new Uint8Array(device.view.buffer).set(new Uint8Array(array.view.buffer));
  device.set({ device_id: id, sync_event: event });
  device.view.setInt32(ArrowDeviceArray.fields.device_type.offset, type, true);
  return { schema: schema.address, array: device.address };
}

test("toArrow() says on which device a tensor is: device memory, pinned and managed", (cuda) => {
  const kinds = [
    [cuda, dev.ARROW_DEVICE_CUDA],
    [cuda.pinned, dev.ARROW_DEVICE_CUDA_HOST],
    [cuda.managed, dev.ARROW_DEVICE_CUDA_MANAGED],
  ] as const;
  for (const [memory, type] of kinds) {
    using tensor = memory.allocate({ shape: [8, 2], dtype: "f32" });
    using arrow = toArrow(tensor as CudaTensor);
    const { device_type, device_id, sync_event } = deviceOf(arrow.array);
    assertEquals([device_type, device_id, sync_event, arrow.deviceType], [type, 0n, 0n, type]);
  }
});

test("fromArrow() attaches the device's memory, and releases it at the tensor's end", (cuda) => {
  const before = theirs.released_structs();
  const { schema, array } = deviceArray(START + 64n);
  {
    using tensor = fromArrow(schema, array, { contexts: [host, cuda], device: true }) as CudaTensor;
    assertEquals([tensor.address, tensor.shape, tensor.access], [START + 64n, [8], "read"]);
    assert(cuda.is(tensor));
    assertEquals(theirs.released_structs(), before);
  }
  assertEquals([theirs.released_structs(), waits], [before + 2, []]);
});

test("what uses the tensor waits on the device for the producer's event", (cuda) => {
  const { schema, array } = deviceArray(START, { event: memory(new BigUint64Array([SOME])) });
  isBusy = true;
  using tensor = fromArrow(schema, array, { contexts: [cuda], device: true });
  assertEquals(waits, [[cuda.stream.handle as bigint, SOME]]);
  assert(tensor.work.length > 0, "a user waits for it");
  isBusy = false;
  const other = deviceArray(START + 64n, { event: memory(new BigUint64Array([OTHER])) });
  failing = 999;
  assertThrows(() => fromArrow(other.schema, other.array, { contexts: [cuda], device: true }), NativeCallError);
  failing = 0;
});

test("arrays of other devices, and events that cannot be read, are refused", (cuda) => {
  const refused = (made: { schema: bigint; array: bigint }, message: string) => {
    const take = () => fromArrow(made.schema, made.array, { contexts: [host, cuda], device: true });
    assertThrows(take, ArgumentError, message);
    assertEquals(theirs.is_released(made.array), 0, "it is still the caller's");
  };
  refused(deviceArray(START, { id: 7n }), "of ARROW_DEVICE_CUDA, number 7, and none of them is for that");
  refused(
    deviceArray(START, { type: dev.ARROW_DEVICE_CUDA + 8 }),
    "no memory here is of device type 10. samepage knows 1 (ARROW_DEVICE_CPU), 2",
  );
  refused(deviceArray(START, { type: -1 }), "device type -1");
  refused(deviceArray(START, { event: 8n }), "cannot be read");
  refused(deviceArray(START, { event: memory(new BigUint64Array(1)) }), "got null");
  refused(deviceArray(0x10n), "CUDA does not know 0x10");
});

test("the number of host memory's device does not matter, as in DLPack", (cuda) => {
  const { schema, array } = deviceArray(START, { id: 7n, type: dev.ARROW_DEVICE_CUDA_HOST });
  using tensor = fromArrow(schema, array, { contexts: [cuda], device: true });
  assert(cuda.is(tensor));
});

test("a table on the device is a record batch, and its columns end together", (cuda) => {
  const planes = [cuda.allocate({ shape: [4], dtype: "f32" }), cuda.allocate({ shape: [4, 3], dtype: "u8" })];
  const columns = [{ name: "x", dtype: "f32", shape: [] }, { name: "y", dtype: "u8", shape: [3] }] as const;
  using frame = Frame.of(planes, { type: "table", format: "mine", rows: 4, columns });
  using arrow = toArrow(frame);
  assertEquals(deviceOf(arrow.array).device_type, dev.ARROW_DEVICE_CUDA);
});
