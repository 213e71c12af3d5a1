import { type Address, NULL } from "../../../ffi/address.ts";
import {
  CL_COMMAND_USER,
  CL_EVENT_COMMAND_EXECUTION_STATUS,
  type CL_EVENT_COMMAND_QUEUE,
  CL_EVENT_COMMAND_TYPE,
  type CL_EVENT_CONTEXT,
} from "../../../ffi/opencl/constants.ts";
import { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } from "../../../ffi/opencl/errors.ts";
import type { ClContext, ClEvent } from "../../../ffi/opencl/handles.ts";
import { ledger } from "../../core/life/ledger.ts";
import { check, errcode, LOST, made } from "../errors.ts";
import { opencl } from "../library.ts";
import { addressOf } from "../../core/native/pin.ts";

let scratch: { readonly address: Address; readonly word: BigUint64Array; readonly halves: Int32Array } | undefined;

function room() {
  if (scratch === undefined) {
    const { words: word, addresses: [address] } = new Words(1);
    scratch = { address, word, halves: new Int32Array(word.buffer) };
  }
  return scratch;
}

function infoOf(event: ClEvent, name: number, size: bigint) {
  const info = room();
  check(opencl().clGetEventInfo(event, name, size, info.address, NULL), "clGetEventInfo");
  return info;
}

/** Where the context is lost, so is the command. */
export function statusOf(event: ClEvent): number {
  const { address, halves } = room();
  const code = opencl().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, address, NULL);
  if (code === LOST) return code;
  check(code, "clGetEventInfo");
  return halves[0];
}

export function ownerOf(event: ClEvent, name: typeof CL_EVENT_CONTEXT | typeof CL_EVENT_COMMAND_QUEUE): bigint {
  return infoOf(event, name, 8n).word[0];
}

export function isUserEvent(event: ClEvent): boolean {
  return infoOf(event, CL_EVENT_COMMAND_TYPE, 4n).halves[0] === CL_COMMAND_USER;
}

export function releaseEvent(event: ClEvent): void {
  ledger.remove("opencl.cl_event");
  check(opencl().clReleaseEvent(event), "clReleaseEvent");
}

/** Checks the code of a wait. A failed event is not an error here: the event itself reports its failure. */
export function checkWait(code: number): void {
  if (code !== CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && code !== LOST) check(code, "clWaitForEvents");
}

export class UserEvent {
  readonly event: ClEvent;

  constructor(context: ClContext) {
    this.event = made(opencl().clCreateUserEvent(context, errcode), "clCreateUserEvent");
    ledger.add("opencl.cl_event");
  }

  /** Also releases it. @throws {NativeCallError} if the driver refused: the waiting commands have failed then. */
  set(succeeds: boolean): void {
    const { clSetUserEventStatus } = opencl();
    const failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    const code = clSetUserEventStatus(this.event, succeeds ? 0 : failure);
    if (code !== 0) clSetUserEventStatus(this.event, failure); // or it would never end
    releaseEvent(this.event);
    check(code, "clSetUserEventStatus");
  }
}

/** 64-bit words for a driver. Their addresses are made once: a new bigint costs as much as a native call. */
export class Words {
  readonly words: BigUint64Array<ArrayBuffer>;
  readonly addresses: readonly Address[];

  constructor(length: number) {
    this.words = new BigUint64Array(length);
    const base = addressOf(this.words, "opencl");
    this.addresses = Array.from(this.words, (_, i) => base + BigInt(8 * i) as Address);
  }
}
