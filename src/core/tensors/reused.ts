import type { MemoryTarget } from "../contract.ts";
import { portsOf } from "../graph/context.ts";
import type { Layout } from "../layout/layout.ts";
import { TokenHome } from "../life/finalizers.ts";
import { Resource } from "../life/resource.ts";
import { undone } from "../life/undo.ts";
import type { Access } from "../memory/access.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import { Frame } from "./frame.ts";
import type { Mapped } from "./mapped.ts";
import type { Metadata } from "./metadata.ts";
import { tensorOver } from "./over.ts";
import { Tensor } from "./tensor.ts";

/** What a frame is in one turn, where that differs from what it is as a whole: its time, and what is known of its picture. */
export interface TurnFacts {
  readonly info?: FrameInfo | undefined;
  /** Its metadata, or what makes it once it is asked for: most programs do not ask. */
  readonly metadata?: Metadata | (() => Metadata) | undefined;
}

/** A frame, or a tensor, that is lent for one turn after the other. What never changes is read once. */
export class ReusedFrame<T extends Tensor | Frame> {
  readonly whole: T;
  readonly name: string;
  readonly #planes: readonly Tensor[];
  readonly #layouts: readonly Layout[];
  readonly #isOneBlock: boolean;
  readonly #tokenHome = new TokenHome();

  constructor(whole: T, name: string) {
    this.whole = whole;
    this.name = name;
    this.#planes = whole instanceof Tensor ? [whole] : whole.planes;
    this.#layouts = this.#planes.map(({ layout }) => layout);
    this.#isOneBlock = isOneBlock(whole, this.#planes);
  }

  /** Takes it over: it and its planes can be used by {@link lend} alone, until the returned function is called. */
  takeOver(by: string): () => void {
    this.whole.revokeViews("read-write");
    this.#mark(by);
    return () => this.#mark(undefined);
  }

  /** Lends it for one turn. `atEnd` is called when what it returns is disposed, and must not reach that. */
  lend(access: Access, atEnd: () => void, facts: TurnFacts = NO_FACTS): T {
    const { takenBy } = this.whole.resource;
    this.#mark(undefined);
    try {
      this.whole.assertUsable(access);
      const turn = this.#isOneBlock ? this.#inOneBlock(access, facts) : this.#inSeveral(access, facts);
      turn.resource.undo.unshift(atEnd);
      return turn;
    } finally {
      this.#mark(takenBy);
    }
  }

  #mark(by: string | undefined): void {
    this.whole.resource.takenBy = by;
    for (const plane of this.#planes) plane.resource.takenBy = by;
  }

  #inSeveral(access: Access, { info, metadata }: TurnFacts): T {
    const { whole } = this;
    if (!(whole instanceof Frame)) return whole.borrow(access) as T;
    return whole.borrow(access, info, typeof metadata === "function" ? metadata() : metadata) as Mapped as T;
  }

  /** The same as `borrow()`, with one grant for all planes: a third of the time. */
  #inOneBlock(access: Access, { info, metadata }: TurnFacts): T {
    const { whole: parent, name } = this;
    const { target, resource: owner } = parent;
    const [all] = owner.grants;
    const grant = all.lend(access, all.start, all.end, name);
    const resource = new Resource({ name, grants: [grant], owners: [owner] });
    resource.tokenHome = this.#tokenHome;
    try {
      grant.revokeConflicting();
      const at = { handle: this.#planes[0].rawHandle, layouts: this.#layouts, resource, parent };
      const of = target as MemoryTarget;
      if (!(parent instanceof Frame)) return tensorOver(of, at) as T;
      return tensorOver(of, { ...at, info: info ?? parent.info, metadata: metadata ?? parent.metadata }) as T;
    } catch (error) {
      throw undone(error, [() => resource.dispose()], `lending ${name}`);
    }
  }
}

const NO_FACTS: TurnFacts = {};

/** True if it holds one whole block, of a kind of memory that can make tensors of a block. */
function isOneBlock({ resource, target }: Tensor | Frame, planes: readonly Tensor[]): boolean {
  if (resource.grants.length !== 1 || portsOf(target)?.tensor === undefined) return false;
  return planes.every(({ rawHandle }) => rawHandle === planes[0].rawHandle);
}
