#version 450
// One turn: every word has to be what the turn before has left there, and becomes what the next one expects.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer Words { uint words[]; };
layout(set = 0, binding = 1) buffer Wrong { uint wrong[]; };
layout(push_constant) uniform Turn { uint n; uint turn; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  uint step = 2u * i + 1u;
  if (words[i] != turn * step) atomicAdd(wrong[0], 1u);
  words[i] = (turn + 1u) * step;
}
