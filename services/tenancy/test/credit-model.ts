/** A rule-by-rule model of one tenant's limited credits, in millionths, for the comparison with the service. */
export class CreditModel {
  private grants: { remaining: bigint; readonly expiresMs: number; readonly order: number }[] = [];
  private readonly reservations = new Map<
    number,
    { amount: bigint; untilMs: number; state: 'open' | 'ended' | 'charged' }
  >();
  private readonly charged = new Set<number>();
  used = 0n;
  overage = 0n;

  constructor(private nowMs: number) {}

  get reserved(): bigint {
    const open = [...this.reservations.values()].filter(({ state }) => state === 'open');
    return open.reduce((sum, { amount }) => sum + amount, 0n);
  }

  get available(): bigint {
    return this.grants.reduce((sum, { remaining }) => sum + remaining, 0n) - this.reserved;
  }

  grant(amount: bigint, expiresMs: number): void {
    this.expire();
    this.grants.push({ remaining: amount, expiresMs, order: this.grants.length });
  }

  /** Returns whether the amount can be reserved. */
  reserve(key: number, amount: bigint, ttlMs: number): boolean {
    if (this.reservations.has(key) || this.charged.has(key)) return true;
    if (amount > 0n) {
      this.expire();
      if (amount > this.available) return false;
    }
    this.reservations.set(key, { amount, untilMs: this.nowMs + ttlMs, state: 'open' });
    return true;
  }

  renew(key: number, ttlMs: number): void {
    const found = this.reservations.get(key);
    if (found?.state === 'open') found.untilMs = this.nowMs + ttlMs;
  }

  /** Returns whether this charges something. */
  settle(key: number, amount: bigint): boolean {
    const found = this.reservations.get(key);
    if (found === undefined || found.state === 'charged') return false;
    found.state = 'charged';
    this.consume(amount);
    return true;
  }

  release(key: number): boolean {
    const found = this.reservations.get(key);
    if (found?.state !== 'open') return false;
    found.state = 'ended';
    this.expire();
    return true;
  }

  record(key: number, amount: bigint): boolean {
    if (this.charged.has(key) || this.reservations.has(key)) return false;
    this.charged.add(key);
    this.consume(amount);
    return true;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    for (const [key, { untilMs, state }] of this.reservations)
      if (state === 'open' && untilMs <= this.nowMs) this.release(key);
    this.expire();
  }

  private consume(amount: bigint): void {
    this.used += amount;
    this.expire();
    let left = amount;
    for (const grant of this.inOrder()) {
      const most = least(left, this.available);
      const part = least(grant.remaining, most);
      grant.remaining -= part;
      left -= part;
    }
    this.overage += left;
  }

  private expire(): void {
    for (const grant of this.inOrder()) {
      if (grant.expiresMs <= this.nowMs) grant.remaining -= least(grant.remaining, this.available);
    }
  }

  private inOrder() {
    return [...this.grants].sort((a, b) => a.expiresMs - b.expiresMs || a.order - b.order);
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
