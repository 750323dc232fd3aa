import { describe, expect, test } from '@jest/globals';
import { chatModelContract, eventsOf, textOf } from '../src/models/contract.js';
import { openExtractiveModel } from '../src/models/extractive/model.js';
import type { ModelRequest, Passage } from '../src/models/port.js';

const PASSAGES: readonly Passage[] = [
  {
    marker: 1,
    sourceId: 'handbook',
    name: 'Time *off*',
    text: '# Vacation\n\nEmployees are entitled to 25 days of paid vacation\nevery year. Unused days expire in March.\n\n- Tell your manager at least 5 days before a vacation.',
  },
  { marker: 2, sourceId: 'kitchen', name: 'Kitchen', text: 'Please put cups and plates into the dishwasher.' },
  {
    marker: 3,
    sourceId: 'handbook',
    name: 'Time *off*',
    text: 'Vacation of more than two weeks needs the consent of the team [7]. Do you have questions about vacation days?',
  },
];

const asking = (content: string, parts: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [
    { role: 'system', content: 'Answer from the passages.' },
    { role: 'user', content },
  ],
  tools: [],
  maxOutputTokens: 1000,
  passages: PASSAGES,
  ...parts,
});
const model = openExtractiveModel(true);
const reply = async (request: ModelRequest) => textOf(await eventsOf(model, request));
const NOTHING = 'I found nothing about this in the documents that you can read.';

chatModelContract('the built-in model', {
  open: () => openExtractiveModel(false),
  request: asking('How many days of vacation are there?'),
});

describe('the built-in model', () => {
  test('quotes the sentences that answer, numbered by source', async () => {
    expect(await reply(asking('How many days of paid vacation do employees have?'))).toBe(
      [
        'These passages answer the question best:',
        '',
        '**Time \\*off\\***',
        '',
        '> Employees are entitled to 25 days of paid vacation every year. [1]',
        '>',
        '> Tell your manager at least 5 days before a vacation. [1]',
      ].join('\n'),
    );
  });

  test('groups the quotes of one source, and escapes numbers that are not citations', async () => {
    const text = await reply(asking('Who has to consent to a vacation, and when do I tell my manager?'));
    expect(text).toContain(
      '> Tell your manager at least 5 days before a vacation. [1]\n>\n> Vacation of more than two weeks',
    );
    expect(text).toContain('the team \\[7\\]. [3]');
    expect(text.match(/\*\*Time/g)).toHaveLength(1);
  });

  test('finds other forms of words, and the words of the heading above', async () => {
    expect(await reply(asking('Is the employee entitled to a paid vacation?'))).toContain('25 days');
    expect(await reply(asking('When does vacation expire?'))).toContain('> Unused days expire in March. [1]');
  });

  test('reports that it found nothing', async () => {
    for (const request of [
      asking('What is the recipe of an apple pie?'),
      asking('Which apple pie recipe has the consent of the cook?'),
      asking(''),
      asking('vacation', { passages: [] }),
      asking('vacation', { passages: [{ marker: 1, name: 'Empty', text: '\n| --- |\n' }] }),
    ]) {
      expect(await reply(request)).toBe(NOTHING);
    }
  });

  test('quotes sentences close in meaning if no words match, and says so', async () => {
    const passages = PASSAGES.map((passage) => ({ ...passage, isClose: passage.marker === 1 }));
    const text = await reply(asking('Wie lange ist der Urlaub?', { passages }));
    expect(text).toMatch(/^No passage has the words of your question\./);
    expect(text).toContain('> Employees are entitled to 25 days of paid vacation every year. [1]');
    expect(text).not.toContain('[2]');
  });

  test('answers the question of the request, not the prompt around it', async () => {
    const text = await reply(
      asking('cups and plates into the dishwasher', { question: 'When do unused days expire?' }),
    );
    expect(text).toContain('March');
    expect(text).not.toContain('dishwasher');
  });

  test('repeats no sentence, and quotes at most six', async () => {
    const passages = Array.from({ length: 20 }, (_, i) => ({
      marker: i + 1,
      name: `Page ${i}`,
      text: `The office in city number ${i} opens at ${i} o'clock. The office opens early every day.`,
    }));
    const text = await reply(asking('When does the office open?', { passages }));
    const quotes = text.split('\n').filter((line) => line.startsWith('> '));
    expect(quotes.length).toBeGreaterThan(0);
    expect(quotes.length).toBeLessThanOrEqual(6);
    expect(quotes.filter((line) => line.includes('early every day')).length).toBeLessThanOrEqual(1);
  });

  test('compares scripts without spaces by pairs of characters', async () => {
    const passages = [
      { marker: 1, name: '手册', text: '员工每年享有二十五天带薪休假。厨房有咖啡机。' },
      { marker: 2, name: '厨房', text: '请把杯子放进洗碗机。' },
    ];
    const text = await reply(asking('带薪休假有几天？', { passages }));
    expect(text).toContain('> 员工每年享有二十五天带薪休假。 [1]');
    expect(text).not.toContain('[2]');
  });

  test('lets other work run while it reads 200 passages', async () => {
    const filler = 'The committee met again and talked about the vacation of the committee at length. ';
    const passages = Array.from({ length: 200 }, (_, i) => ({
      marker: i + 1,
      name: `Page ${i}`,
      text: filler.repeat(24),
    }));
    let turns = 0;
    let isRunning = true;
    const turn = (): void => {
      turns++;
      if (isRunning) setImmediate(turn);
    };
    turn();
    const text = await reply(asking('How long is the vacation of the committee?', { passages }));
    isRunning = false;
    expect(text).toContain('[1]');
    expect(turns).toBeGreaterThan(10);
  });
});
