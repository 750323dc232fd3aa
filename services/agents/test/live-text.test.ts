import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { LiveText } from '../src/engine/live-text.js';
import { readSignal } from '../src/runs/topic.js';

/** Longer than the time between two saves. */
const LONG_MS = 1_500;

function open(save: (text: string) => Promise<void> = async () => {}) {
  const pieces: string[] = [];
  const broadcast = (_: string, text: string) => {
    const signal = readSignal(text);
    if (signal.kind === 'text') pieces.push(signal.text);
  };
  return { live: new LiveText({ broadcast }, { id: 'run', attempt: 1 }, save), pieces };
}

test('pieces that end within a character are sent once the character is complete', () => {
  const { live, pieces } = open();
  for (const piece of ['a\ud83c', '\udf89b', '\ud83c', '\udf89']) live.write(piece);
  live.endText();
  expect(pieces).toEqual(['a', '🎉b', '🎉']);
  expect(live.text).toBe('a🎉b🎉');
});

test('half a character is not sent', () => {
  const { live, pieces } = open();
  for (const piece of ['\udf89a', 'b\ud83c']) live.write(piece);
  live.endText();
  expect(live.text).toBe('\ufffdab\ufffd');
  expect(pieces.join('')).toBe(live.text);
});

test('a text that pauses is saved, and not after it was closed', async () => {
  const saved: string[] = [];
  const { live } = open(async (text) => void saved.push(text));
  live.write('one');
  live.write(' two');
  await eventually(() => expect(saved).toEqual(['one two']));
  live.write(' three');
  await live.close();
  await sleep(LONG_MS);
  expect(saved).toEqual(['one two']);
});
