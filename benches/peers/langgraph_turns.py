"""Turns of an agent in LangGraph with its SQLite saver and a model that is not one.

    langgraph_turns.py FILE INPUT_BYTES RESULT_BYTES ANSWER_BYTES [WINDOW_TOKENS]

Reads a number of turns from each line of its input, takes them, and prints the processor seconds
they took and the bytes of the database after them. A turn is an input, a call, its result and an
answer, in one thread, as the documentation of LangGraph builds an agent: a graph over messages
with a model's node and a node of tools, compiled with a checkpointer. With a window, the model's
node trims the messages to it as that documentation does; without one the model gets all of them.
"""

import os
import sqlite3
import sys
import time
from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately, trim_messages
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

WORDS = """the server of requests and threads is before results because window morning between
several questions that index river paper""".split()


def text(number: int, size: int) -> str:
    """Text of so many bytes, other words for every number."""
    words = WORDS[number % len(WORDS) :] + WORDS
    return (f"{number}: " + " ".join(words) * (size // 20 + 1))[:size]


def graph(checkpointer, result_bytes: int, answer_bytes: int, window_tokens: int | None):
    """An agent that calls its tool once and answers."""

    def sent(messages):
        """What a model with such a window is asked with: an eighth of it is left for its answer."""
        if window_tokens is None:
            return messages
        return trim_messages(
            messages,
            strategy="last",
            token_counter=count_tokens_approximately,
            max_tokens=window_tokens - window_tokens // 8,
            start_on="human",
            end_on=("human", "tool"),
        )

    @tool
    def look(at: str) -> str:
        """Looks something up."""
        return text(len(at), result_bytes)

    def model(state: MessagesState):
        newest = sent(state["messages"])[-1]
        usage = {"input_tokens": 4000, "output_tokens": 100, "total_tokens": 4100}
        if isinstance(newest, ToolMessage):
            answer = AIMessage(text(7, answer_bytes), usage_metadata=usage)
        else:
            call = {"name": "look", "args": {"at": newest.content}, "id": f"call_{newest.id}"}
            answer = AIMessage("", tool_calls=[call], usage_metadata=usage)
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=checkpointer)


def size(file: str) -> int:
    """The bytes of the database once its log is in it."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return os.path.getsize(file)


def main() -> None:
    file, input_bytes, result_bytes, answer_bytes = sys.argv[1], *map(int, sys.argv[2:5])
    window_tokens = int(sys.argv[5]) if len(sys.argv) > 5 else None
    packages = ["langgraph", "langgraph-checkpoint-sqlite"]
    print(", ".join(f"{package} {version(package)}" for package in packages), flush=True)
    with SqliteSaver.from_conn_string(file) as checkpointer:
        agent = graph(checkpointer, result_bytes, answer_bytes, window_tokens)
        config = {"configurable": {"thread_id": "1"}}
        done = 0
        for line in sys.stdin:
            before = time.process_time()
            for _ in range(int(line)):
                done += 1
                said = HumanMessage(text(done, input_bytes))
                state = agent.invoke({"messages": [said]}, config)
            seconds = time.process_time() - before
            assert len(state["messages"]) == 4 * done, "every turn has four messages"
            print(seconds, size(file), flush=True)


if __name__ == "__main__":
    main()
