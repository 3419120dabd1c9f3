// Points of a curve that grows: what comes replaces everything from a place on.

export class Points {
  length = 0;
  x = new Float64Array(0);
  mean = new Float64Array(0);
  low = new Float64Array(0);
  high = new Float64Array(0);
  count = new Float64Array(0);

  take(from: number, columns: Record<string, Float64Array>): void {
    const { x, mean, low, high, count } = columns;
    if (!x || !mean || !low || !high) return;
    const needed = from + x.length;
    if (needed > this.x.length) this.grow(Math.max(needed, 2 * this.x.length, 64));
    this.x.set(x, from);
    this.mean.set(mean, from);
    this.low.set(low, from);
    this.high.set(high, from);
    if (count) this.count.set(count, from);
    this.length = needed;
  }

  // The place of the first point at or behind x.
  at(x: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[middle]! < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  nearest(x: number): number {
    const right = this.at(x);
    if (right === 0) return this.length ? 0 : -1;
    if (right === this.length) return right - 1;
    return x - this.x[right - 1]! < this.x[right]! - x ? right - 1 : right;
  }

  // The mean of the values within a window of neighbours before each point (as many points, weighted by what they hold).
  smoothed(window: number): Float64Array {
    const made = new Float64Array(this.length);
    let sum = 0;
    let weight = 0;
    for (let at = 0; at < this.length; at++) {
      sum += this.mean[at]! * (this.count[at] ?? 1);
      weight += this.count[at] ?? 1;
      if (at >= window) {
        sum -= this.mean[at - window]! * (this.count[at - window] ?? 1);
        weight -= this.count[at - window] ?? 1;
      }
      made[at] = sum / weight;
    }
    return made;
  }

  private grow(room: number): void {
    for (const name of ["x", "mean", "low", "high", "count"] as const) {
      const wider = new Float64Array(room);
      wider.set(this[name].subarray(0, this.length));
      this[name] = wider;
    }
  }
}
