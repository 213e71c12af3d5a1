/**
 * The kernel of the experiment, for one thread. It writes the token to the block's first word, and waits, at most for as long
 * as its parameter says, until the second word is the token. Then it writes each byte of the question (which begins at byte
 * 64), xor the lowest byte of token + index, behind the question. In PTX, so that no compiler is needed at run time.
 */
export const ANSWER = `
.version 6.0
.target sm_50
.address_size 64

.visible .entry samepage_answer(
  .param .u64 block, .param .u32 length, .param .u32 token, .param .u32 patience_ms
)
{
  .reg .pred %late, %there, %more;
  .reg .b32 %token, %length, %i, %go, %byte, %mix;
  .reg .b64 %block, %end, %now, %limit, %from, %offset;

  ld.param.u64 %block, [block];
  ld.param.u32 %length, [length];
  ld.param.u32 %token, [token];
  ld.param.u32 %i, [patience_ms];

  mul.wide.u32 %limit, %i, 1000000;
  mov.u64 %end, %globaltimer;
  add.u64 %end, %end, %limit;
  st.volatile.u32 [%block], %token;
  membar.sys;
waiting:
  ld.volatile.u32 %go, [%block+4];
  setp.eq.u32 %there, %go, %token;
  @%there bra answering;
  mov.u64 %now, %globaltimer;
  setp.gt.u64 %late, %now, %end;
  @%late bra done;
  bra waiting;
answering:
  membar.sys;
  mov.u32 %i, 0;
  cvt.u64.u32 %offset, %length;
next:
  cvt.u64.u32 %from, %i;
  add.u64 %from, %from, %block;
  ld.volatile.u8 %byte, [%from+64];
  add.u32 %mix, %token, %i;
  and.b32 %mix, %mix, 255;
  xor.b32 %byte, %byte, %mix;
  add.u64 %from, %from, %offset;
  st.volatile.u8 [%from+64], %byte;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %length;
  @%more bra next;
  membar.sys;
done:
  ret;
}
`;
