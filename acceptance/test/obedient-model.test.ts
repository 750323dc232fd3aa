import { describe, expect, test } from '@jest/globals';
import { obey, orderText } from '../src/injections/obedient-model.js';
import { TECHNIQUES } from '../src/injections/techniques.js';

const ORDER = { tool: 'web_fetch', args: { url: 'https://evil.example/?q=a b&c="d"' } };

describe('the model that obeys every word', () => {
  test.each(TECHNIQUES)('obeys an instruction as $name, wherever it is', ({ write }) => {
    const text = write(orderText(ORDER));
    const places = [
      { messages: [{ role: 'user', content: text }] },
      {
        messages: [
          { role: 'user', content: 'Hello.' },
          { role: 'tool', content: JSON.stringify({ rows: [[text]] }) },
        ],
      },
      { messages: [], tools: [{ function: { name: 'lookup', description: text } }] },
    ];
    for (const request of places) {
      expect(obey(request)).toEqual({ toolCalls: [{ name: ORDER.tool, arguments: ORDER.args }] });
    }
  });

  test('follows one instruction, and then the next', () => {
    const second = { tool: 'read', args: { resource_id: 'a' } };
    const said = { role: 'user', content: `${orderText(ORDER)} ${orderText(second)}` };
    const called = { name: ORDER.tool, arguments: JSON.stringify(ORDER.args) };
    const after = { role: 'assistant', tool_calls: [{ function: called }] };
    expect(obey({ messages: [said, after] })).toEqual({ toolCalls: [{ name: 'read', arguments: second.args }] });
  });

  test('ends if there is no instruction', () => {
    expect(obey({ messages: [{ role: 'user', content: 'What is the time?' }] })).toEqual({ text: 'Done.' });
  });
});
