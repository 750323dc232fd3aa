/**
 * What a form does more where scripts run: questions that hang on an answer come and go with it, times are the
 * visitor's own, a form is sent once, and the work that keeps machines out is done before it is sent.
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
    if (!field || field.hidden) return [];
    const controls = [...field.querySelectorAll('input, textarea, select')];
    return controls
      .filter((one) => (one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value !== ''))
      .map((one) => (field.dataset.kind === 'checkbox' ? 'true' : one.value));
  };
  const compare = (a, b, test) => {
    const pairs = [[Number(a), Number(b)], [Date.parse(a), Date.parse(b)]];
    const [x, y] = pairs.find((pair) => !pair.some(Number.isNaN)) || [String(a), String(b)];
    return test(x, y);
  };
  const holds = ({ op, value }, answers, many) => {
    const [first] = answers;
    const same = (one) => fold(one) === fold(value);
    const found = () => answers.some((one) => (many ? same(one) : fold(one).includes(fold(value))));
    const compared = (test) => first !== undefined && compare(first, value, test);
    switch (op) {
      case 'empty': return answers.length === 0;
      case 'not_empty': return answers.length > 0;
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
    // A question may hang on one that comes or goes in the same turn.
    for (let turn = 0; turn <= rules.size; turn++) {
      let changed = false;
      for (const [id, rule] of rules) {
        const field = byId.get(id);
        const many = byId.get(rule.field_id)?.dataset.kind === 'multi_choice';
        const hidden = !holds(rule, answersOf(rule.field_id), many);
        if (field.hidden !== hidden) [field.hidden, changed] = [hidden, true];
      }
      if (!changed) break;
    }
  };
  form.addEventListener('input', show);
  form.addEventListener('change', show);
  show();

  form.elements.utc_offset.value = String(-new Date().getTimezoneOffset());

  const zeroBits = (bytes) => {
    let bits = 0;
    for (const byte of bytes) {
      if (byte !== 0) return bits + Math.clz32(byte) - 24;
      bits += 8;
    }
    return bits;
  };
  const work = async (task, bits) => {
    const encoder = new TextEncoder();
    // Many at a time: each goes to another thread and back.
    for (let first = 0; ; first += 256) {
      const texts = Array.from({ length: 256 }, (_, i) => (first + i).toString(36));
      const sums = await Promise.all(
        texts.map((text) => crypto.subtle.digest('SHA-256', encoder.encode(task + ':' + text))),
      );
      const found = sums.findIndex((sum) => zeroBits(new Uint8Array(sum)) >= bits);
      if (found >= 0) return texts[found];
    }
  };
  const button = form.querySelector('button[type="submit"]');
  const status = form.querySelector('[role="status"]');
  let sending = false;
  form.addEventListener('submit', async (event) => {
    if (sending) return event.preventDefault();
    sending = true;
    button.setAttribute('aria-disabled', 'true');
    const bits = Number(form.dataset.captcha);
    if (bits > 0 && form.elements.captcha_token.value === '') {
      event.preventDefault();
      if (!window.isSecureContext) {
        status.textContent = 'This form can only be sent over a secure connection (https).';
        return;
      }
      status.textContent = 'One moment…';
      const token = location.pathname.split('/').at(-1);
      form.elements.captcha_token.value = await work(token + ':' + form.elements.submission_id.value, bits);
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
