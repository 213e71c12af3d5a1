// One turn: every word has to be what the turn before has left there, and becomes what the next one expects.
kernel void turn(global uint *words, uint n, uint turn, volatile global uint *wrong) {
  const uint i = get_global_id(0), step = 2u * i + 1u;
  if (i >= n) return;
  if (words[i] != turn * step) atomic_inc(wrong);
  words[i] = (turn + 1u) * step;
}
