// What prompts say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

const seen = {
  goal: 'A parser for the little language.',
  because: '',
  newestHandoff: undefined,
  objectives: [
    { id: 'lexer', description: 'Write src/lexer.rs', status: 'done' },
    { id: 'parser', description: 'Write src/parser.rs', status: 'open' },
  ],
  focus: ['parser'],
};

test('a first prompt names what is in focus', () => {
  host(policy);
  const { sections } = policy.prompting.compose(seen);
  const prompt = sections[0].blocks[0].val;
  assert.ok(prompt.includes('- parser: Write src/parser.rs') && !prompt.includes('lexer'), prompt);
});
