/**
 * Script that enhances a form: it shows and hides conditional questions, shows times in the visitor's time zone,
 * prevents double submission, and computes the proof of work against bots before submission.
 */
export const SCRIPT = `'use strict';
(() => {
  const form = document.querySelector('form[data-form]');
  if (!form) return;
  const fields = [...form.querySelectorAll('[data-field]')];
  const byId = new Map(fields.map((field) => [field.dataset.field, field]));
  const rules = new Map(
    fields.filter((field) => field.dataset.if).map((field) => [field.dataset.field, JSON.parse(field.dataset.if)]),
  );
  for (const hint of form.querySelectorAll('[data-plain]')) hint.remove();

  const fold = (value) => String(value).normalize('NFKC').toLowerCase();
  const answersOf = (id) => {
    const field = byId.get(id);
    if (field && field.hidden) return [];
    // What a field of type hidden has is in the form, but in no question.
    const controls = [...form.querySelectorAll('[name="f.' + id + '"]')];
    if (field && field.dataset.kind === 'checkbox') return controls.map((one) => String(one.checked));
    return controls
      .filter((one) => (one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value !== ''))
      .map((one) => one.value);
  };
  const compare = (a, b, test) => {
    const pairs = [[Number(a), Number(b)], [Date.parse(a), Date.parse(b)]];
    const [x, y] = pairs.find((pair) => !pair.some(Number.isNaN)) || [String(a), String(b)];
    return test(x, y);
  };
  const holds = ({ op, value }, answers, kind) => {
    const [first] = answers;
    const many = kind === 'multi_choice';
    // A box that is not ticked is false, and no answer.
    const given = kind === 'checkbox' ? answers.filter((one) => one !== 'false') : answers;
    const same = (one) => fold(one) === fold(value);
    const found = () => answers.some((one) => (many ? same(one) : fold(one).includes(fold(value))));
    const compared = (test) => first !== undefined && compare(first, value, test);
    switch (op) {
      case 'empty': return given.length === 0;
      case 'not_empty': return given.length > 0;
      case 'eq': return answers.some(same);
      case 'neq': return !answers.some(same);
      case 'in': return answers.some((one) => value.some((other) => fold(one) === fold(other)));
      case 'contains': return found();
      case 'not_contains': return !found();
      case 'gt': case 'after': return compared((a, b) => a > b);
      case 'gte': return compared((a, b) => a >= b);
      case 'lt': case 'before': return compared((a, b) => a < b);
      case 'lte': return compared((a, b) => a <= b);
      default: return true;
    }
  };
  const show = () => {
    // A question may depend on one that this loop shows or hides, so the loop repeats until nothing changes.
    for (let turn = 0; turn <= rules.size; turn++) {
      let changed = false;
      for (const [id, rule] of rules) {
        const field = byId.get(id);
        const kind = byId.get(rule.field_id)?.dataset.kind;
        const hidden = !holds(rule, answersOf(rule.field_id), kind);
        if (field.hidden !== hidden) [field.hidden, changed] = [hidden, true];
      }
      if (!changed) break;
    }
  };
  form.addEventListener('input', show);
  form.addEventListener('change', show);
  show();

  // Clocks may be put forward or back between now and the time in a field.
  const setOffsets = () => {
    for (const offset of form.querySelectorAll('[data-clock]')) {
      const { value } = document.getElementById(offset.dataset.clock);
      if (value !== '') offset.value = String(-new Date(value).getTimezoneOffset());
    }
  };

  // SHA-256 (FIPS 180-4) without a call into the browser for each attempt: those take ten times as long.
  const fraction = (root) => ((root % 1) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const ROUNDS = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
  const START = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  const words = new Int32Array(64);
  const turned = (word, bits) => (word >>> bits) | (word << (32 - bits));
  const compress = (state, view, at) => {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15];
      const y = words[i - 2];
      const near = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
      const far = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
      words[i] = (words[i - 16] + near + words[i - 7] + far) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f] = [g, f, e];
      e = (d + one) | 0;
      [d, c, b] = [c, b, a];
      a = (one + two) | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  };
  // Finds a text behind which the hash of a task begins with so many zero bits.
  const work = async (task, bits) => {
    const bytes = new TextEncoder().encode(task);
    const whole = bytes.length & ~63;
    const before = START.slice();
    for (let at = 0; at < whole; at += 64) compress(before, new DataView(bytes.buffer, bytes.byteOffset), at);
    const tail = new Uint8Array(128);
    const view = new DataView(tail.buffer);
    const state = START.slice();
    tail.set(bytes.subarray(whole));
    const open = bytes.length - whole;
    let pause = performance.now() + 40;
    for (let n = 0; ; n++) {
      const text = n.toString(36);
      const end = open + text.length;
      for (let i = 0; i < text.length; i++) tail[open + i] = text.charCodeAt(i);
      tail[end] = 128;
      const last = end < 56 ? 0 : 64;
      tail.fill(0, end + 1, last + 60);
      view.setInt32(last + 60, (bytes.length + text.length) * 8);
      state.set(before);
      compress(state, view, 0);
      if (last > 0) compress(state, view, 64);
      if (state[0] >>> (32 - bits) === 0) return text;
      // The page stays alive meanwhile.
      if (n % 1024 === 0 && performance.now() > pause) {
        await new Promise((resolve) => setTimeout(resolve));
        pause = performance.now() + 40;
      }
    }
  };
  const button = form.querySelector('button[type="submit"]');
  const status = form.querySelector('[role="status"]');
  let sending = false;
  form.addEventListener('submit', async (event) => {
    if (sending) return event.preventDefault();
    // The server refuses these after they have arrived, and a browser would forget which files were chosen.
    const files = [...form.querySelectorAll('input[type="file"]')].flatMap(({ files }) => [...files]);
    if (files.reduce((sum, { size }) => sum + size, 0) > Number(form.dataset.maxBytes)) {
      event.preventDefault();
      status.textContent = form.dataset.tooLarge;
      return;
    }
    sending = true;
    setOffsets();
    button.setAttribute('aria-disabled', 'true');
    const bits = Number(form.dataset.captcha);
    if (bits > 0 && form.elements.captcha_token.value === '') {
      event.preventDefault();
      status.textContent = 'One moment…';
      const token = location.pathname.split('/').at(-1);
      const task = form.dataset.challenge + '.';
      const text = await work(token + ':' + form.elements.submission_id.value + ':' + task, bits);
      form.elements.captcha_token.value = task + text;
      form.submit();
    }
    status.textContent = 'Sending…';
  });
  addEventListener('pageshow', () => {
    sending = false;
    button.removeAttribute('aria-disabled');
    status.textContent = '';
  });
})();
`;
