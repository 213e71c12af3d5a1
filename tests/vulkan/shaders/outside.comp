#version 450
// Writes far outside of its buffer, and reads from there.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Numbers { uint x[]; };
layout(push_constant) uniform Constants { uint at; };

void main() {
  x[at] = 7;
  x[0] = x[at + 1];
}
