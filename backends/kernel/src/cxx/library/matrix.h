// Matrices, which are columns. Sums go from the first column to the last.
template<class T, int C, int R> C_FN mat<T, C, R> c_add(mat<T, C, R> a, const mat<T, C, R>& b) {
  C_UNROLL for (int i = 0; i < C; i++) a.c[i].v = c_add(a.c[i].v, b.c[i].v);
  return a;
}
template<class T, int C, int R> C_FN mat<T, C, R> c_sub(mat<T, C, R> a, const mat<T, C, R>& b) {
  C_UNROLL for (int i = 0; i < C; i++) a.c[i].v = c_sub(a.c[i].v, b.c[i].v);
  return a;
}
template<class T, int C, int R> C_FN mat<T, C, R> c_neg(mat<T, C, R> a) {
  C_UNROLL for (int i = 0; i < C; i++) a.c[i].v = c_neg(a.c[i].v);
  return a;
}
template<class T, int C, int R> C_FN mat<T, C, R> c_mul(mat<T, C, R> a, T b) {
  C_UNROLL for (int i = 0; i < C; i++) a.c[i].v = c_mul(a.c[i].v, b);
  return a;
}
template<class T, int C, int R> C_FN mat<T, C, R> c_mul(T a, const mat<T, C, R>& b) { return c_mul(b, a); }
template<class T, int C, int R> C_FN vec<T, R> c_mul(const mat<T, C, R>& a, vec<T, C> b) {
  vec<T, R> sum = c_mul(a.c[0].v, b[0]);
  C_UNROLL for (int i = 1; i < C; i++) sum = c_add(sum, c_mul(a.c[i].v, b[i]));
  return sum;
}
template<class T, int C, int R> C_FN vec<T, C> c_mul(vec<T, R> a, const mat<T, C, R>& b) {
  vec<T, C> out;
  C_UNROLL for (int i = 0; i < C; i++) {
    T sum = c_mul(a[0], b.c[i].v[0]);
    C_UNROLL for (int k = 1; k < R; k++) sum = c_add(sum, c_mul(a[k], b.c[i].v[k]));
    out[i] = sum;
  }
  return out;
}
template<class T, int N, int C, int R> C_FN mat<T, C, R> c_mul(const mat<T, N, R>& a, const mat<T, C, N>& b) {
  mat<T, C, R> out = mat<T, C, R>{};
  C_UNROLL for (int i = 0; i < C; i++) out.c[i].v = c_mul(a, b.c[i].v);
  return out;
}
// Of two that are alike, or the product of two numbers would fit as well.
template<class T, int N> C_FN mat<T, N, N> c_mul(const mat<T, N, N>& a, const mat<T, N, N>& b) {
  mat<T, N, N> out = mat<T, N, N>{};
  C_UNROLL for (int i = 0; i < N; i++) out.c[i].v = c_mul(a, b.c[i].v);
  return out;
}
template<class T, int C, int R> C_FN mat<T, R, C> c_transpose(const mat<T, C, R>& a) {
  mat<T, R, C> out = mat<T, R, C>{};
  C_UNROLL for (int i = 0; i < C; i++) { C_UNROLL for (int k = 0; k < R; k++) out.c[k].v[i] = a.c[i].v[k]; }
  return out;
}
template<class T, int C, int R> C_FN mat<T, C, R> c_outer(vec<T, R> a, vec<T, C> b) {
  mat<T, C, R> out = mat<T, C, R>{};
  C_UNROLL for (int i = 0; i < C; i++) out.c[i].v = c_mul(a, b[i]);
  return out;
}
// Without one column and one row.
template<class T, int N> C_FN mat<T, N - 1, N - 1> c_minor(const mat<T, N, N>& a, int column, int row) {
  mat<T, N - 1, N - 1> out = mat<T, N - 1, N - 1>{};
  C_UNROLL for (int i = 0; i < N - 1; i++) {
    C_UNROLL for (int k = 0; k < N - 1; k++) out.c[i].v[k] = a.c[i + (i >= column)].v[k + (k >= row)];
  }
  return out;
}
template<class T> C_FN T c_determinant(const mat<T, 2, 2>& a) {
  return a.c[0].v.x * a.c[1].v.y - a.c[1].v.x * a.c[0].v.y;
}
// By minors along the first column.
template<class T, int N> C_FN T c_determinant(const mat<T, N, N>& a) {
  T sum = a.c[0].v[0] * c_determinant(c_minor(a, 0, 0));
  C_UNROLL for (int k = 1; k < N; k++) {
    T term = a.c[0].v[k] * c_determinant(c_minor(a, 0, k));
    sum = k % 2 == 1 ? sum - term : sum + term;
  }
  return sum;
}
// The minors with their signs, transposed, each divided by the determinant.
template<class T> C_FN mat<T, 2, 2> c_inverse(const mat<T, 2, 2>& a) {
  T whole = c_determinant(a);
  mat<T, 2, 2> out;
  out.c[0].v = vec<T, 2>{a.c[1].v.y / whole, -a.c[0].v.y / whole};
  out.c[1].v = vec<T, 2>{-a.c[1].v.x / whole, a.c[0].v.x / whole};
  return out;
}
template<class T, int N> C_FN mat<T, N, N> c_inverse(const mat<T, N, N>& a) {
  T whole = c_determinant(a);
  mat<T, N, N> out = mat<T, N, N>{};
  C_UNROLL for (int i = 0; i < N; i++) {
    C_UNROLL for (int k = 0; k < N; k++) {
      T part = c_determinant(c_minor(a, k, i));
      out.c[i].v[k] = ((i + k) % 2 == 1 ? -part : part) / whole;
    }
  }
  return out;
}
