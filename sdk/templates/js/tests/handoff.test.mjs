// What handoffs say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

const seen = {
  askedAtMs: 1_772_366_400_000n,
  phase: { title: 'Build\nthe parser' },
  objectives: [
    { id: 'lexer', description: 'Write src/lexer.rs', status: 'done' },
    { id: 'parser', description: 'Write src/parser.rs', status: 'open' },
  ],
  changedFiles: [],
};

test('a document names what is done and what is open', () => {
  host(policy);
  const { document } = policy.handoff.compose(seen);
  const [title, done, open] = document.map((section) => section.blocks[0].val);
  assert.equal(title, '# Handoff of Build the parser\n');
  assert.ok(done.includes('- lexer: ') && open.includes('- parser: '), done + open);
});
